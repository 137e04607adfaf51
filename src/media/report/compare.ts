/** Compares the two sides of a file: the values of every field, and whether they agree. */
import { pairs, type Pair } from './match.ts';
import { PROFILED } from './normalise/codec.ts';
import {
  bothOf,
  eitherOf,
  FIRST,
  otherThan,
  SECOND,
  sides,
  told,
  type Field,
  type Fields,
  type Side,
  type Sides,
  type StreamType,
} from './side.ts';
import { REPORT_TOOLS, type ReportTool } from '../tools/probe_report.ts';
import { ruleOf } from './fields.ts';
import { frameOf, same } from './tolerances.ts';

export type Agreement = 'agreed' | 'disputed' | 'single';

export interface Compared extends Sides<Field | undefined> {
  path: string;
  field: string;
  agreement: Agreement;
  /** Whether the table of fields defines its comparison. */
  canonical: boolean;
}

export interface Part extends Sides<Fields | undefined> {
  /** `container`, or `streams[2]`. */
  path: string;
  kind: 'container' | StreamType;
  pair: Pair | undefined;
  fields: Compared[];
  /** The only tool that sees the stream, if both gave a result. */
  onlyBy: ReportTool | undefined;
}

export interface Comparison extends Sides<Side | undefined> {
  parts: Part[];
}

/** Not shown as fields: evidence, and counts that the streams themselves show. */
const HIDDEN = /^(?:streams\.|data_size|header_size|footer_size|varies)/;
export const isShown = (field: string): boolean => !HIDDEN.test(field);

function compareFields(
  path: string,
  said: Sides<Fields | undefined>,
  of: 'container' | 'stream',
  frame: number,
): Compared[] {
  const duration = Number(told(said, 'duration') ?? 0);
  const names = new Set(bothOf(said).flatMap((fields) => Object.keys(fields ?? {})));
  const compared: Compared[] = [];
  for (const field of names) {
    if (!isShown(field)) continue;
    const [a, b] = [said.ffprobe?.[field], said.mediainfo?.[field]];
    const tolerance = ruleOf(field)[of];
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

/** Profiles that the two tools take from different lists are not in dispute. */
function comparable(fields: Compared[], codec: Field | undefined): Compared[] {
  return fields.map((one) =>
    one.field === 'codec.profile' && one.agreement === 'disputed' && !PROFILED.has(String(codec))
      ? { ...one, agreement: 'agreed', canonical: false }
      : one,
  );
}

/** Of a manifest, size and rate are those of the text, and mediainfo may see none of the streams it names. */
const MANIFESTS = new Set(['hls', 'dash', 'ism']);
const AS_A_FILE = new Set(['size', 'bitrate.average', 'data_size', 'header_size', 'footer_size']);
const isManifest = (side: Side | undefined): boolean => MANIFESTS.has(String(side?.container['format']));

const withoutSizes = (side: Side): Side => ({
  ...side,
  container: Object.fromEntries(Object.entries(side.container).filter(([field]) => !AS_A_FILE.has(field))),
});

export function compare(ffprobe: Side | undefined, mediainfo: Side | undefined): Comparison {
  const ofManifest = isManifest(ffprobe) || isManifest(mediainfo);
  const [first, second] = ofManifest
    ? [ffprobe, mediainfo].map((side) => side && withoutSizes(side))
    : [ffprobe, mediainfo];
  const both: Sides<Side | undefined> = { [FIRST]: first, [SECOND]: second };
  const matched = pairs(first?.streams ?? [], second?.streams ?? []);
  const frames = matched.map((pair) => frameOf({ ...pair[SECOND]?.fields, ...pair[FIRST]?.fields }));
  const slowest = frames.length > 0 ? Math.max(...frames) : frameOf({});
  const containers = sides((tool) => both[tool]?.container);
  const parts: Part[] = [
    {
      path: 'container',
      kind: 'container',
      pair: undefined,
      ...containers,
      onlyBy: undefined,
      fields: compareFields('container', containers, 'container', slowest),
    },
  ];
  for (const [index, pair] of matched.entries()) {
    const path = `streams[${index}]`;
    const said = sides((tool) => pair[tool]?.fields);
    parts.push({
      path,
      kind: eitherOf(pair)!.type,
      pair,
      ...said,
      fields: comparable(compareFields(path, said, 'stream', frames[index]!), told(said, 'codec.name')),
      onlyBy: first && second && !ofManifest && isCounted(pair) ? onlyOneOf(pair) : undefined,
    });
  }
  return { ...both, parts };
}

const onlyOneOf = (pair: Pair): ReportTool | undefined =>
  REPORT_TOOLS.find((tool) => pair[otherThan(tool)] === undefined);

/**
 * Covers, captions in a picture, data and attachments are streams for only one of the tools, so their count is not in
 * dispute.
 */
const isCounted = (pair: Pair): boolean => {
  const stream = eitherOf(pair)!;
  return ['video', 'audio', 'subtitle'].includes(stream.type) && stream.picture !== true && stream.embedded !== true;
};
