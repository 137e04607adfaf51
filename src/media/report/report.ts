/** Creates the report from the output of ffprobe and mediainfo. Pure. */
import { REPORT_TOOLS, type ReportTool } from '../tools/probe_report.ts';
import type { CaptionsRead } from './captions.ts';
import { compare, type Compared, type Comparison, type Part } from './compare.ts';
import type { Context } from './context.ts';
import { surroundingsOf } from './features.ts';
import { ruleOf } from './fields.ts';
import { type Bitstream, captionsOf, isListed, ONLY_PICTURES, readFrames, witnessed } from './frames.ts';
import { known } from './json.ts';
import { judge, trust } from './judge.ts';
import { isPicture, streamsOf } from './match.ts';
import { finerContainer } from './normalise/container.ts';
import { readFfprobe } from './normalise/ffprobe.ts';
import { readMediainfo } from './normalise/mediainfo.ts';
import { fractionOf, valueOf } from './normalise/ratio.ts';
import type { ContainerReport, Difference, ProbeReport, StreamReport, Warning } from './schema.ts';
import {
  bothOf,
  eitherOf,
  type Field,
  type Fields,
  number,
  otherThan,
  type Side,
  sides,
  type Sides,
  type SideStream,
  STREAM_TYPES,
} from './side.ts';
import type { WarningCode } from './warning_codes.ts';
import { damaged, notSignalled, type StreamGaps, warningsOf } from './warnings.ts';

/** One tool's output; undefined if it did not run, failed, or printed nothing readable. */
export interface Told {
  version: string;
  output: unknown;
}

export interface Input extends Sides<Told | undefined> {
  diff: boolean;
  prefer: ReportTool | null;
  /** What ffprobe printed of some pictures; absent if they were not read. */
  frames?: unknown;
  /** Which captions they carry, if they carry some. */
  captions?: CaptionsRead | undefined;
  /** Why the pictures were not read, although they leave something open. */
  unread?: string | undefined;
  /** What a tool said of damage although it succeeded. */
  damage?: string | undefined;
  gaps?: readonly StreamGaps[];
  /** Lower-case file extension from the address, without the dot. */
  extension?: string | undefined;
}

const LONGEST_REASON = 300;

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

interface Chosen {
  part: Part;
  fields: Fields;
  sure: Sure[];
  differences: Difference[];
}
interface Sure {
  of: Compared;
  confidence: number;
}

/** A tool's output as one side of a report. */
export const readBy: Sides<(output: unknown, version: string) => Side | undefined> = {
  ffprobe: readFfprobe,
  mediainfo: readMediainfo,
};

/** Undefined if neither tool gave readable output. */
export function report(input: Input): ProbeReport | undefined {
  const read = sides((tool) => input[tool] && readBy[tool](input[tool].output, input[tool].version));
  if (!eitherOf(read)) return undefined;
  const comparison = compare(...bothOf(read));
  const chosen = comparison.parts.map((part) => choose(comparison, part, input.prefer));
  const [container, ...streams] = chosen as [Chosen, ...Chosen[]];
  const firstVideo = videoOf(streams);
  const bitstream =
    input.frames === undefined && !input.captions
      ? undefined
      : readFrames(input.frames, firstVideo?.fields['codec.name'], input.captions);
  if (firstVideo && bitstream) testify(firstVideo, bitstream, input.prefer);
  const captioned = bothOf(read).flatMap((side) => side?.streams.filter(({ caption }) => caption !== undefined) ?? []);
  const warnings = [
    ...singleSource(read, input),
    ...(firstVideo && !bitstream && input.unread !== undefined ? [notRead(firstVideo.part, input.unread)] : []),
    ...(firstVideo && bitstream ? notSignalled(firstVideo.part, bitstream, isListed(captioned, bothOf(read))) : []),
    ...warningsOf({
      comparison,
      container: container.fields,
      streams: streams.map(({ part, fields }) => ({ part, fields })),
      extension: input.extension,
    }),
    ...damaged(comparison, input.damage, input.gaps),
  ];
  const confidence: Record<string, number> = {};
  if (firstVideo) for (const { of, confidence: value } of firstVideo.sure) confidence[of.field] = rounded(value);
  for (const { sure } of chosen) for (const { of, confidence: value } of sure) confidence[of.path] = rounded(value);
  return {
    ...(firstVideo ? flatView(firstVideo.fields) : {}),
    container: containerView(
      container.fields,
      mostChapters(read),
      streams.map(({ part }) => part),
    ),
    streams: streams.map((stream, index) => ({
      ...streamView(index, stream.part, stream.fields),
      ...(stream.part.kind === 'video'
        ? inPictures(stream, captioned, stream === firstVideo ? bitstream : undefined)
        : {}),
    })),
    confidence,
    warnings,
    ...(input.diff ? { diff: chosen.flatMap(({ differences }) => differences) } : {}),
  };
}

function mostChapters(read: Sides<Side | undefined>): Side['chapters'] {
  const [first = [], second = []] = bothOf(sides((tool) => read[tool]?.chapters));
  return first.length >= second.length ? first : second;
}

/** The first video that is not a cover; in a playlist, that of the first variant. */
function videoOf(streams: readonly Chosen[]): Chosen | undefined {
  const videos = streams.filter(({ part }) => part.kind === 'video' && !isPicture(part));
  return videos.find(({ part }) => streamsOf(part.pair).some(({ program }) => program === 0)) ?? videos[0];
}

function choose(comparison: Comparison, part: Part, prefer: ReportTool | null): Chosen {
  const fields: Fields = {};
  const sure: Sure[] = [];
  const differences: Difference[] = [];
  const around = surroundingsOf(comparison, part);
  if (part.onlyBy) {
    const here = { type: part.kind, codec: part[part.onlyBy]?.['codec.name'] ?? null };
    differences.push({
      path: part.path,
      ...sides((tool) => (tool === part.onlyBy ? here : null)),
      chosen: part.onlyBy,
      reason: 'only one tool sees the stream; it is listed, so that it can be checked',
    });
  }
  for (const compared of part.fields) {
    const { field, agreement } = compared;
    const context: Context = { comparison, part, compared, around };
    if (agreement === 'disputed') {
      const { chosen, reason, confidence } = judge(context, prefer);
      if (chosen !== null) fields[field] = compared[chosen]!;
      if (confidence !== undefined) sure.push({ of: compared, confidence });
      differences.push({
        path: compared.path,
        ...sides((tool) => valueView(field, compared[tool]!)),
        chosen,
        reason,
        ...(confidence === undefined ? {} : { confidence: rounded(confidence) }),
      });
      continue;
    }
    fields[field] = settled(compared, prefer);
    const confidence = trust(context);
    if (confidence !== undefined) sure.push({ of: compared, confidence });
  }
  return { part, fields, sure, differences };
}

/** The stream itself wins over what the container says of it, unless the caller prefers a tool that has a value. */
function testify({ part, fields, sure, differences }: Chosen, bitstream: Bitstream, prefer: ReportTool | null): void {
  for (const [field, value] of witnessed(bitstream, part.ffprobe)) {
    const told = sides((tool) => part[tool]?.[field]);
    if (bothOf(told).every((one) => one === value)) continue;
    const path = `${part.path}.${field}`;
    const isPreferred = prefer !== null && told[prefer] !== undefined;
    const isKnown = bothOf(told).every((one) => one === undefined || one === value) && fields[field] === value;
    if (!isPreferred) fields[field] = value;
    if (isKnown || ONLY_PICTURES.has(field)) continue;
    drop(differences, (one) => one.path === path);
    if (!isPreferred) drop(sure, ({ of }) => of.path === path);
    differences.push({
      path,
      ...sides((tool) => (told[tool] === undefined ? null : valueView(field, told[tool]))),
      bitstream: valueView(field, value),
      chosen: isPreferred ? prefer : 'bitstream',
      reason: isPreferred ? 'preferred by the caller; otherwise the bitstream' : 'the pictures themselves say it',
    });
  }
}

/** What a video carries in its pictures, and how many of them were read. */
function inPictures(
  { part, fields }: Chosen,
  captioned: readonly SideStream[],
  bitstream: Bitstream | undefined,
): Pick<StreamReport, 'captions' | 'looked_at'> {
  const captions = captionsOf(part, captioned, bitstream?.captions);
  const rate = number(fields, 'frame_rate');
  const seconds = bitstream && rate !== undefined && rate > 0 ? rounded(bitstream.pictures / rate) : undefined;
  return {
    ...(captions.length > 0 ? { captions } : {}),
    ...(bitstream
      ? { looked_at: { pictures: bitstream.pictures, ...known({ seconds, captions: bitstream.captionSeconds }) } }
      : {}),
  };
}

const notRead = ({ path }: Part, why: string): Warning => ({
  code: 'pictures-not-read' satisfies WarningCode,
  message: `${why.slice(0, LONGEST_REASON)}: HDR, captions and scan type are those that the container declares`,
  path,
});

function drop<T>(list: T[], which: (one: T) => boolean): void {
  const at = list.findIndex(which);
  if (at !== -1) list.splice(at, 1);
}

/** Values within the tolerance: chooses the more precise one. */
function settled(compared: Compared, prefer: ReportTool | null): Field {
  const [first, second] = bothOf(compared);
  if (first === undefined || second === undefined) return (first ?? second)!;
  if (prefer !== null) return compared[prefer]!;
  if (compared.field === 'format') return finerContainer(String(first), String(second));
  if (compared.field === 'codec.name') return String(second).startsWith(`${String(first)}_`) ? second : first;
  return first;
}

function singleSource(read: Sides<Side | undefined>, input: Input): Warning[] {
  const missing = REPORT_TOOLS.find((tool) => !read[tool]);
  if (missing === undefined) return [];
  const why =
    input[missing] === undefined ? `${missing} returned no result` : `the output of ${missing} cannot be read`;
  return [
    { code: 'single-source' satisfies WarningCode, message: `from ${otherThan(missing)} alone: ${why}`, path: '' },
  ];
}

// Fields as callers see them: nested, rounded, with the names of the API (docs/report.md).

/** Built from field names: tests verify that it matches the schema. */
type Nested = Record<string, unknown>;

/** A single value as callers see it, in the report and in its diff. */
function valueView(field: string, value: Field): unknown {
  switch (ruleOf(field).shown) {
    case 'fraction':
      return fractionOf(value) ?? { numerator: 0, denominator: 1 };
    case 'rounded':
      return Math.round((valueOf(value) ?? 0) * 1000) / 1000;
    case 'whole':
      return typeof value === 'number' ? Math.round(value) : value;
    default:
      return value;
  }
}

function nested(fields: Fields, skip: (field: string) => boolean): Nested {
  const view: Nested = {};
  for (const [field, value] of Object.entries(fields)) {
    if (skip(field)) continue;
    const dot = field.indexOf('.');
    if (dot === -1) view[field] = valueView(field, value);
    else ((view[field.slice(0, dot)] ??= {}) as Nested)[field.slice(dot + 1)] = valueView(field, value);
  }
  return view;
}

/** The first video stream, at the top of the report. Codec id, frame rate and average bitrate are always present. */
function flatView(fields: Fields): Nested {
  const view = nested(fields, (field) => !ruleOf(field).atTop);
  return {
    codec: { id: 0, ...(view['codec'] as Nested | undefined) },
    size: view['size'] ?? {},
    frame_rate: view['frame_rate'] ?? { numerator: 0, denominator: 1 },
    pixel_format: view['pixel_format'] ?? {},
    ...pick(view, ['start_time', 'duration', 'frames_count']),
    bitrate: { average: 0, ...(view['bitrate'] as Nested | undefined) },
    color: view['color'] ?? {},
  };
}

const pick = (view: Nested, names: string[]): Nested =>
  Object.fromEntries(names.filter((name) => name in view).map((name) => [name, view[name]]));

function containerView(fields: Fields, chapters: Side['chapters'], parts: readonly Part[]): ContainerReport {
  const counts = STREAM_TYPES.map((type) => [type, parts.filter(({ kind }) => kind === type).length]);
  const streams = { total: parts.length, ...Object.fromEntries(counts) } as ContainerReport['streams'];
  return { ...nested(fields, (field) => field === 'chapters'), streams, ...(chapters.length > 0 ? { chapters } : {}) };
}

function streamView(index: number, part: Part, fields: Fields): StreamReport {
  const { kind } = part;
  const seen = streamsOf(part.pair);
  const id = seen.find((stream) => stream.id !== undefined)?.id;
  const formats = kind === 'video' ? dynamicRange(fields) : [];
  const view = nested(fields, () => false);
  if (formats.length > 0) view['hdr'] = { formats, ...(view['hdr'] as Nested | undefined) };
  return {
    index,
    type: kind as StreamReport['type'],
    ...(id === undefined ? {} : { id }),
    ...view,
    ...(isPicture(part) ? { attached_picture: true } : {}),
    ...(seen.length > 0 && seen.every(({ embedded }) => embedded) ? { embedded: true } : {}),
  };
}

export function dynamicRange(fields: Fields): string[] {
  const pq = fields['color.transfer'] === 'smpte2084';
  return [
    ...(pq && fields['hdr.dynamic'] === true ? ['HDR10+'] : []),
    ...(pq && fields['hdr.mastering_display'] === true ? ['HDR10'] : pq ? ['PQ'] : []),
    ...(fields['color.transfer'] === 'arib-std-b67' ? ['HLG'] : []),
    ...(fields['hdr.dolby_vision_profile'] === undefined && fields['hdr.dolby_vision_rpu'] === undefined
      ? []
      : ['Dolby Vision']),
  ];
}
