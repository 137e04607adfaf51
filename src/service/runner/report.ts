/** probe_report in the runner: the additional tool runs for it, and its result. */
import { codeMember } from '../../base/causes.ts';
import type { AssignedTool, Assignment } from '../../platform/bus/messages.ts';
import { report, type Told } from '../../media/report/report.ts';
import { sides } from '../../media/report/side.ts';
import { extensionOf } from '../../source/playlist/mapping.ts';
import { probeReport, REPORT_TOOLS } from '../../media/tools/probe_report.ts';
import { TOOL_TABLE } from '../../media/tools/table.ts';
import type { RawReport, RawToolResult } from './output.ts';

/** Small enough to be parsed beside the agent's other work. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Tools with options that shape their output: they run once more for the report, without these options. */
export function runsForReport({ kind, report: { enabled }, tools }: Assignment): AssignedTool[] {
  if (!enabled || kind !== 'file') return [];
  return tools.flatMap((tool) => {
    if (!probeReport.from.some((name) => name === tool.name)) return [];
    const shaping = new Set(TOOL_TABLE[tool.name]?.options.flatMap(({ name, shapes }) => (shapes ? [name] : [])));
    if (!Object.keys(tool.options).some((name) => shaping.has(name))) return [];
    return [
      { ...tool, options: Object.fromEntries(Object.entries(tool.options).filter(([name]) => !shaping.has(name))) },
    ];
  });
}

export interface MadeReport {
  result: RawReport;
  /** The report as callers see it, but always with its diff. Policies are evaluated on it. */
  seen: object | undefined;
}

/** `own`: the runs made only for the report; their time counts as the report's. */
export function reportOf(
  assignment: Assignment,
  tools: readonly RawToolResult[],
  own: readonly RawToolResult[],
  redact: (text: string) => string,
): MadeReport | undefined {
  const {
    policy,
    report: { diff, enabled, prefer },
  } = assignment;
  if (!enabled || assignment.kind !== 'file') return undefined;
  const begun = performance.now();
  const made = report({
    ...sides((name) => toldBy([...own, ...tools].find((tool) => tool.name === name))),
    diff: diff || policy !== undefined,
    prefer,
    extension: extensionOf(assignment.source),
  });
  const longest = own.reduce((most, { durationMs }) => Math.max(most, durationMs), 0);
  const result = {
    name: probeReport.name,
    version: '1',
    exitCode: null,
    signal: null,
    format: 'json',
    durationMs: longest + performance.now() - begun,
    usageMs: own.reduce((sum, { usageMs }) => sum + usageMs, 0),
  } as const;
  if (!made) {
    const first = tools.find(({ error, name }) => error !== undefined && REPORT_TOOLS.some((tool) => tool === name));
    return {
      result: {
        ...result,
        success: false,
        failure: 'failed',
        ...codeMember(first),
        error: `neither ${REPORT_TOOLS.join(' nor ')} gave a result to report on${first ? `: ${first.error}` : ''}`,
        output: null,
      },
      seen: undefined,
    };
  }
  const { diff: _, ...others } = made;
  const whole = redact(JSON.stringify(made));
  const output = Buffer.from(diff || made.diff === undefined ? whole : redact(JSON.stringify(others)));
  return {
    result: { ...result, success: true, output },
    seen: policy && (JSON.parse(whole) as object),
  };
}

function toldBy(result: RawToolResult | undefined): Told | undefined {
  if (!result?.success || result.output === null || result.output.length > MOST_BYTES) return undefined;
  try {
    return { version: result.version, output: JSON.parse(result.output.toString()) };
  } catch {
    return undefined;
  }
}
