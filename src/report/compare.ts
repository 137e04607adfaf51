/** Two sides laid beside each other: for every field what each says, and whether that is the same. */
import { pairs, type Pair } from './match.ts';
import { PROFILED } from './normalise/codec.ts';
import type { Field, Fields, ReportTool, Side } from './side.ts';
import { CONTAINER_FIELDS, frameOf, same, STREAM_FIELDS, type Tolerance } from './tolerances.ts';

export type Agreement = 'agreed' | 'disputed' | 'single';

export interface Compared {
  path: string;
  field: string;
  ffprobe: Field | undefined;
  mediainfo: Field | undefined;
  agreement: Agreement;
  /** Whether the field stands in the table of tolerances. */ canonical: boolean;
}

export interface Part {
  /** `container`, or `streams[2]`. */
  path: string;
  kind: 'container' | 'video' | 'audio' | 'subtitle' | 'data' | 'attachment';
  pair: Pair | undefined;
  ffprobe: Fields | undefined;
  mediainfo: Fields | undefined;
  fields: Compared[];
  /** Only one of the two, which both looked, sees the stream at all. */
  onlyBy: ReportTool | undefined;
}

export interface Comparison {
  ffprobe: Side | undefined;
  mediainfo: Side | undefined;
  parts: Part[];
}

/** Not shown as fields of their own: evidence, or counts that the streams themselves show. */
const HIDDEN = /^(?:streams\.|data_size|header_size|footer_size|varies)/;

function compareFields(
  path: string,
  ffprobe: Fields | undefined,
  mediainfo: Fields | undefined,
  table: Readonly<Record<string, Tolerance>>,
  frame: number,
): Compared[] {
  const duration = Number(ffprobe?.['duration'] ?? mediainfo?.['duration'] ?? 0);
  const names = new Set([...Object.keys(ffprobe ?? {}), ...Object.keys(mediainfo ?? {})]);
  const compared: Compared[] = [];
  for (const field of names) {
    if (HIDDEN.test(field)) continue;
    const [a, b] = [ffprobe?.[field], mediainfo?.[field]];
    const tolerance = Object.hasOwn(table, field) ? table[field] : undefined;
    const agreement =
      a === undefined || b === undefined
        ? 'single'
        : tolerance === undefined || same(a, b, tolerance, frame, duration)
          ? 'agreed'
          : 'disputed';
    compared.push({
      path: `${path}.${field}`,
      field,
      ffprobe: a,
      mediainfo: b,
      agreement,
      canonical: tolerance !== undefined,
    });
  }
  return compared;
}

/** Profiles of codecs that the two name from different lists are no disagreement. */
function comparable(fields: Compared[], codec: Field | undefined): Compared[] {
  return fields.map((one) =>
    one.field === 'codec.profile' && one.agreement === 'disputed' && !PROFILED.has(String(codec))
      ? { ...one, agreement: 'agreed', canonical: false }
      : one,
  );
}

export function compare(ffprobe: Side | undefined, mediainfo: Side | undefined): Comparison {
  const matched = pairs(ffprobe?.streams ?? [], mediainfo?.streams ?? []);
  const frames = matched.map((pair) => frameOf({ ...pair.mediainfo?.fields, ...pair.ffprobe?.fields }));
  const slowest = frames.length > 0 ? Math.max(...frames) : frameOf({});
  const parts: Part[] = [
    {
      path: 'container',
      kind: 'container',
      pair: undefined,
      ffprobe: ffprobe?.container,
      mediainfo: mediainfo?.container,
      onlyBy: undefined,
      fields: compareFields('container', ffprobe?.container, mediainfo?.container, CONTAINER_FIELDS, slowest),
    },
  ];
  for (const [index, pair] of matched.entries()) {
    const [a, b] = [pair.ffprobe?.fields, pair.mediainfo?.fields];
    const kind = (pair.ffprobe ?? pair.mediainfo)!.type;
    const path = `streams[${index}]`;
    parts.push({
      path,
      kind,
      pair,
      ffprobe: a,
      mediainfo: b,
      fields: comparable(
        compareFields(path, a, b, STREAM_FIELDS, frames[index]!),
        a?.['codec.name'] ?? b?.['codec.name'],
      ),
      onlyBy:
        ffprobe === undefined || mediainfo === undefined || (a && b) || !counts(pair)
          ? undefined
          : a
            ? 'ffprobe'
            : 'mediainfo',
    });
  }
  return { ffprobe, mediainfo, parts };
}

/**
 * Covers, captions in a picture, data and attachments are streams for one tool and not for the other: no disagreement.
 */
const counts = ({ ffprobe, mediainfo }: Pair): boolean => {
  const stream = (ffprobe ?? mediainfo)!;
  return ['video', 'audio', 'subtitle'].includes(stream.type) && stream.picture !== true && stream.embedded !== true;
};
