/**
 * Decides which tool is right, and with what confidence: by the model, or by a rule for fields in which the rule is
 * better.
 */
import { readFileSync } from 'node:fs';
import type { Context } from './context.ts';
import { features } from './features.ts';
import { ruleOf } from './fields.ts';
import { rule } from './rules.ts';
import { REPORT_TOOLS, type ReportTool } from '../tools/probe_report.ts';
import { FIRST, SECOND, sides, type Sides } from './side.ts';
import { Model, type Weights } from './trees.ts';

export interface Judgement {
  /** Null: neither value is likely enough. */
  chosen: ReportTool | null;
  /** Undefined if such a field never had a known truth. */
  confidence: number | undefined;
  reason: string;
}

/**
 * Fields in which the rule was right more often than the model in the held-out files (docs/report.md), with the share
 * of those disputes in which the chosen tool and the other one were right. `make report-tables` fails if a field is
 * missing here.
 */
const RULED: Readonly<Record<string, { chosen: number; other: number }>> = {
  'container.duration': { chosen: 0.76, other: 0.21 },
  'container.bitrate.average': { chosen: 0.86, other: 0.14 },
};

export interface Decision {
  chosen: ReportTool;
  right: Readonly<Sides<number>>;
}

/** The tool that is more likely right in a dispute over `field` (`container.duration`), from the rule and the model. */
export function decide(field: string, ruled: ReportTool, model: Readonly<Sides<number>>): Decision {
  const shares = RULED[field];
  if (shares) return { chosen: ruled, right: sides((tool) => (tool === ruled ? shares.chosen : shares.other)) };
  // At most one is right, because their difference exceeds the tolerance.
  const sum = Math.max(1, model[FIRST] + model[SECOND]);
  const right = sides((tool) => model[tool] / sum);
  return { chosen: right[FIRST] >= right[SECOND] ? FIRST : SECOND, right };
}

/** Read once, when the module is loaded: the only file that this folder reads. */
export const learned: Model = new Model(
  JSON.parse(readFileSync(new URL('weights.json', import.meta.url), 'utf8')) as Weights,
);

/** A value that was wrong more often than right is none. */
const LEAST_CONFIDENCE = 0.5;

const percent = (of: number): string => `${Math.round(of * 100)} of 100`;

/** Whether files with a known truth tell how often a value of this field is right. */
const isMeasured = ({ part, compared }: Context): boolean =>
  compared.canonical && ruleOf(compared.field).measured?.includes(part.kind) === true;

export function judge(context: Context, prefer: ReportTool | null, by: Model = learned): Judgement {
  if (!isMeasured(context)) return unmeasured(context, prefer);
  const seen = features(context);
  const field = `${context.part.kind}.${context.compared.field}`;
  const model = sides((tool) => by.of(tool, seen));
  const { chosen: better, right: sure } = decide(field, rule(context).chosen, model);
  if (prefer !== null)
    return preferred(prefer, better, `${better} would be chosen (${percent(sure[better])})`, sure[prefer]);
  if (sure[better] < LEAST_CONFIDENCE) {
    const shares = REPORT_TOOLS.map((tool) => `${tool} was right in ${percent(sure[tool])}`);
    return {
      chosen: null,
      confidence: undefined,
      reason: `not known: in test files ${shares.join(', ')} such cases`,
    };
  }
  return { chosen: better, confidence: sure[better], reason: reasonOf(context, better, sure[better]) };
}

/** Decided by the rule alone, because the model was not trained on such a field. */
function unmeasured(context: Context, prefer: ReportTool | null): Judgement {
  const { chosen, why } = rule(context);
  return prefer === null
    ? { chosen, confidence: undefined, reason: why }
    : preferred(prefer, chosen, `${chosen}: ${why}`, undefined);
}

/** `otherwise`: what would be without the preference. */
const preferred = (
  prefer: ReportTool,
  better: ReportTool,
  otherwise: string,
  confidence: number | undefined,
): Judgement => ({
  chosen: prefer,
  confidence,
  reason: prefer === better ? 'preferred by the caller' : `preferred by the caller; otherwise ${otherwise}`,
});

function reasonOf(context: Context, chosen: ReportTool, confidence: number): string {
  const ruling = rule(context);
  const measured = `in test files ${chosen} was right in ${percent(confidence)} such cases`;
  return ruling.chosen === chosen ? `${ruling.why}; ${measured}` : measured;
}

/** The confidence in an undisputed value. */
export function trust(context: Context, by: Model = learned): number | undefined {
  const { agreement } = context.compared;
  if (!isMeasured(context)) return undefined;
  return by.of(agreement === 'agreed' ? 'agreed' : 'single', features(context));
}
