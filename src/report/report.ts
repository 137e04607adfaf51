/** The report that ffprobe and mediainfo lead to. Pure: from what the two printed to what a caller reads. */
import { compare, type Comparison, type Part } from './compare.ts';
import type { Context } from './context.ts';
import { judge, trust } from './judge.ts';
import { finerContainer } from './normalise/container.ts';
import { readFfprobe } from './normalise/ffprobe.ts';
import { readMediainfo } from './normalise/mediainfo.ts';
import type { Field, Fields, ReportTool, Side } from './side.ts';
import { containerView, flatView, streamView, valueView } from './view.ts';
import { warningsOf, type Warning } from './warnings.ts';

/** One tool's output; undefined where it did not run, failed, or printed nothing that can be read. */
export interface Told {
  version: string;
  output: unknown;
}

export interface Input {
  ffprobe: Told | undefined;
  mediainfo: Told | undefined;
  diff: boolean;
  prefer: ReportTool | null;
  /** The ending of the name in the address, without its dot, in small letters. */
  extension?: string | undefined;
}

export interface Difference {
  path: string;
  ffprobe: unknown;
  mediainfo: unknown;
  chosen: ReportTool;
  reason: string;
  confidence: number;
}
export type Report = Record<string, unknown> & {
  container: object;
  streams: object[];
  confidence: Record<string, number>;
  warnings: Warning[];
  diff?: Difference[];
};

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

interface Chosen {
  part: Part;
  fields: Fields;
  confidence: Record<string, number>;
  differences: Difference[];
}

/** Undefined where neither tool said anything of a file. */
export function report(input: Input): Report | undefined {
  const ffprobe = input.ffprobe && readFfprobe(input.ffprobe.output, input.ffprobe.version);
  const mediainfo = input.mediainfo && readMediainfo(input.mediainfo.output, input.mediainfo.version);
  if (!ffprobe && !mediainfo) return undefined;
  const comparison = compare(ffprobe, mediainfo);
  const chosen = comparison.parts.map((part) => choose(comparison, part, input.prefer));
  const [container, ...streams] = chosen as [Chosen, ...Chosen[]];
  const firstVideo = videoOf(streams);
  const warnings = [
    ...singleSource(ffprobe, mediainfo, input),
    ...warningsOf({
      comparison,
      container: container.fields,
      streams: streams.map(({ part, fields }) => ({ part, fields })),
      extension: input.extension,
    }),
  ];
  const confidence: Record<string, number> = {};
  if (firstVideo)
    for (const [field, value] of Object.entries(firstVideo.confidence)) confidence[field] = rounded(value);
  for (const { part, confidence: own } of chosen)
    for (const [field, value] of Object.entries(own)) confidence[`${part.path}.${field}`] = rounded(value);
  return {
    ...(firstVideo ? flatView(firstVideo.fields) : {}),
    container: containerView(
      container.fields,
      ffprobe?.chapters ?? [],
      mediainfo?.chapters ?? [],
      streams.map(({ part }) => part),
    ),
    streams: streams.map(({ part, fields }, index) => streamView(index, part, fields)),
    confidence,
    warnings,
    ...(input.diff ? { diff: chosen.flatMap(({ differences }) => differences) } : {}),
  };
}

/** The first one that is no cover; of a playlist, the first variant's. */
function videoOf(streams: readonly Chosen[]): Chosen | undefined {
  const videos = streams.filter(({ part }) => part.kind === 'video' && part.pair?.ffprobe?.picture !== true);
  return videos.find(({ part }) => part.pair?.ffprobe?.program === 0) ?? videos[0];
}

function choose(comparison: Comparison, part: Part, prefer: ReportTool | null): Chosen {
  const fields: Fields = {};
  const confidence: Record<string, number> = {};
  const differences: Difference[] = [];
  if (part.onlyBy) {
    const here = { type: part.kind, codec: part[part.onlyBy]?.['codec.name'] ?? null };
    differences.push({
      path: part.path,
      ffprobe: part.onlyBy === 'ffprobe' ? here : null,
      mediainfo: part.onlyBy === 'mediainfo' ? here : null,
      chosen: part.onlyBy,
      reason: 'only one tool sees the stream; it is shown, because what is shown can be looked at',
      confidence: 0.5,
    });
  }
  for (const compared of part.fields) {
    const { field, ffprobe, mediainfo, agreement } = compared;
    const context: Context = { comparison, part, compared };
    if (agreement === 'disputed') {
      const judgement = judge(context, prefer);
      fields[field] = (judgement.chosen === 'ffprobe' ? ffprobe : mediainfo)!;
      confidence[field] = judgement.confidence;
      differences.push({
        path: compared.path,
        ffprobe: valueView(field, ffprobe!),
        mediainfo: valueView(field, mediainfo!),
        chosen: judgement.chosen,
        reason: judgement.reason,
        confidence: rounded(judgement.confidence),
      });
      continue;
    }
    fields[field] = settled(field, ffprobe, mediainfo, prefer);
    confidence[field] = trust(context);
  }
  return { part, fields, confidence, differences };
}

/** Within the tolerance: the finer of the two. */
function settled(
  field: string,
  ffprobe: Field | undefined,
  mediainfo: Field | undefined,
  prefer: ReportTool | null,
): Field {
  if (ffprobe === undefined || mediainfo === undefined) return (ffprobe ?? mediainfo)!;
  if (prefer !== null) return prefer === 'ffprobe' ? ffprobe : mediainfo;
  if (field === 'format') return finerContainer(String(ffprobe), String(mediainfo));
  if (field === 'codec.name')
    return String(mediainfo).length > String(ffprobe).length && String(mediainfo).startsWith(`${String(ffprobe)}_`)
      ? mediainfo
      : ffprobe;
  return ffprobe;
}

function singleSource(ffprobe: Side | undefined, mediainfo: Side | undefined, input: Input): Warning[] {
  if (ffprobe && mediainfo) return [];
  const [there, missing]: [ReportTool, ReportTool] = ffprobe ? ['ffprobe', 'mediainfo'] : ['mediainfo', 'ffprobe'];
  const why = input[missing] === undefined ? `${missing} gave no result` : `${missing} said nothing that can be read`;
  return [{ code: 'single-source', message: `from ${there} alone: ${why}`, path: '' }];
}
