/** Who is right, and how sure that is. By the model; without its weights, by the rules. */
import { readFileSync } from 'node:fs';
import type { Context } from './context.ts';
import { features } from './features.ts';
import { rule } from './rules.ts';
import type { ReportTool } from './side.ts';
import { Model, type Weights } from './trees.ts';

export interface Judgement {
  chosen: ReportTool;
  confidence: number;
  reason: string;
}

/** What is said where nothing was learned. */
const UNLEARNED = 0.5;

/** Read once, when the module is loaded: the one file that this folder reads. */
export const model: Model = new Model(JSON.parse(readFileSync(new URL('weights.json', import.meta.url), 'utf8')) as Weights);

const percent = (of: number): string => `${Math.round(of * 100)} of 100`;

export function judge(context: Context, prefer: ReportTool | null, by: Model = model): Judgement {
  const row = by.row(features(context));
  const right = { ffprobe: by.ask('ffprobe', row), mediainfo: by.ask('mediainfo', row) };
  // At most one is right: beyond the tolerance they cannot both be.
  const sum = Math.max(1, right.ffprobe + right.mediainfo);
  const sure = { ffprobe: right.ffprobe / sum, mediainfo: right.mediainfo / sum };
  const better: ReportTool = sure.ffprobe >= sure.mediainfo ? 'ffprobe' : 'mediainfo';
  if (prefer !== null) return { chosen: prefer, confidence: sure[prefer], reason: `preferred by the caller${prefer === better ? '' : `; without that ${better} would be chosen (${percent(sure[better])})`}` };
  return { chosen: better, confidence: sure[better], reason: reasonOf(context, better, sure[better]) };
}

function reasonOf(context: Context, chosen: ReportTool, confidence: number): string {
  const ruling = rule(context);
  const measured = `in files of known truth ${chosen} was right in ${percent(confidence)} such cases`;
  return ruling.chosen === chosen ? `${ruling.why}; ${measured}` : measured;
}

/** Of a value that nobody disputes. */
export function trust(context: Context, by: Model = model): number {
  const { agreement, canonical } = context.compared;
  if (!canonical) return agreement === 'agreed' ? 0.9 : UNLEARNED;
  return by.ask(agreement === 'agreed' ? 'agreed' : 'single', by.row(features(context)));
}
