/** Warnings about a file. */
import type { Comparison, Part } from './compare.ts';
import { containersOf } from './context.ts';
import type { Bitstream } from './frames.ts';
import { isPicture, streamsOf } from './match.ts';
import { extensionFits } from './normalise/container.ts';
import type { ReportTool } from '../tools/probe_report.ts';
import type { Warning } from './schema.ts';
import { bothOf, number, sides, told, toldNumber, type Caption, type Fields } from './side.ts';
import { frameOf } from './tolerances.ts';
import type { WarningCode } from './warning_codes.ts';

export interface Seen {
  comparison: Comparison;
  /** The chosen values, by part. */
  container: Fields;
  streams: { part: Part; fields: Fields }[];
  /** File extension from the address, without the dot. */
  extension: string | undefined;
}

type Found = [code: WarningCode, message: string];
const aboutPart = (path: string, found: Iterable<Found>): Warning[] =>
  Array.from(found, ([code, message]) => ({ code, message, path }));

export function warningsOf(seen: Seen): Warning[] {
  return [
    ...signs(seen),
    ...aboutPart('container', ofContainer(seen)),
    ...seen.streams.flatMap((stream) => aboutPart(stream.part.path, ofStream(stream, seen))),
    ...presence(seen),
  ].filter(first());
}

/** Keeps one warning per code and part. */
function first(): (warning: Warning) => boolean {
  const had = new Set<string>();
  return ({ code, path }) => !had.has(`${code} ${path}`) && had.add(`${code} ${path}`) !== undefined;
}

function signs({ comparison, container }: Seen): Warning[] {
  const found: Warning[] = [];
  for (const side of [comparison.mediainfo, comparison.ffprobe]) {
    for (const { code, detail, stream } of side?.signs ?? []) {
      const part = comparison.parts.find(({ pair }) => stream !== undefined && streamsOf(pair).includes(stream));
      if (
        code === 'variable-frame-rate' &&
        (stream?.picture === true || !variesFor(side!.tool, part, String(container['format'] ?? '')))
      )
        continue;
      found.push({ code, message: detail, path: part?.path ?? 'container' });
    }
  }
  return found;
}

/** Elementary video streams without timestamps: their frame rate cannot vary. */
const UNTIMED = new Set(['h264', 'hevc', 'vvc', 'av1', 'm4v', 'mpegvideo']);
const MATROSKA = new Set(['matroska', 'webm']);
const APART = 0.1;

/**
 * Millisecond timestamps make 60 frames a second seem to vary, so a weak sign from one tool must be confirmed by the
 * other. In Matroska, ffprobe reports the declared rate, so mediainfo's sign counts if it measured a different rate, or
 * none.
 */
function variesFor(tool: ReportTool, part: Part | undefined, format: string): boolean {
  if (UNTIMED.has(format)) return false;
  const varies = (side: ReportTool) => part?.[side]?.['varies'];
  if (tool === 'ffprobe') return part?.mediainfo === undefined || varies('mediainfo') !== undefined;
  if (varies('mediainfo') === 'widely' || part?.ffprobe === undefined || varies('ffprobe') !== undefined) return true;
  const [declared, counted] = [number(part.ffprobe, 'frame_rate'), number(part.mediainfo, 'frame_rate')];
  return (
    MATROSKA.has(format) &&
    declared !== undefined &&
    (counted === undefined || Math.abs(counted / declared - 1) > APART)
  );
}

/** Padding and rounded times explain a smaller difference. */
const MISSING = 0.04;
const CONTAINED = new Set('mp4 mov 3gp matroska webm avi flv asf mxf wav ogg flac mp3 aiff'.split(' '));

/** When a file or a stream begins, which is not before 0. */
const zeroOf = (fields: Fields): number => Math.max(0, number(fields, 'start_time') ?? 0);

function* ofContainer({ comparison, container, streams, extension }: Seen): Generator<Found> {
  const format = String(container['format'] ?? '');
  if (extension !== undefined && extensionFits(format, extension) === false)
    yield ['extension-mismatch', `the name ends in .${extension}, the file is ${format}`];
  if (container['duration'] === undefined && CONTAINED.has(format))
    yield ['no-duration', 'neither tool found a duration'];
  const size = number(container, 'size');
  const containers = containersOf(comparison);
  const [header, data] = [toldNumber(containers, 'header_size'), toldNumber(containers, 'data_size')];
  if (size !== undefined && header !== undefined && data !== undefined && header + data > size * 1.0001 + 8)
    yield ['truncated', `the header declares ${Math.round(header + data)} bytes, the file has ${size}`];
  // The lower one if the tools disagree: a guessed bitrate must not cause a warning.
  const claimed = streams.reduce((sum, { part, fields }) => {
    const rates = bothOf(sides((tool) => number(part[tool], 'bitrate.average'))).filter((one) => one !== undefined);
    const [rate, seconds] = [
      rates.length > 0 ? Math.min(...rates) : undefined,
      number(fields, 'duration') ?? number(container, 'duration'),
    ];
    return sum + (rate !== undefined && seconds !== undefined ? (rate * seconds) / 8 : 0);
  }, 0);
  // Matroska's rates may be tags of another file; with a variable frame rate, a rate by time says little about the
  // bytes.
  const steady = streams.every(({ part }) => told(part, 'varies') === undefined);
  if (
    steady &&
    size !== undefined &&
    claimed > size * (1 + MISSING) + 2000 &&
    ['mp4', 'mov', '3gp', 'avi', 'wav'].includes(format)
  )
    yield ['truncated', `bitrate and duration of its streams give ${Math.round(claimed)} bytes, the file has ${size}`];
  const ends = streams
    .filter(
      ({ part, fields }) =>
        (part.kind === 'video' || part.kind === 'audio') && fields['duration'] !== undefined && !isPicture(part),
    )
    .map(({ fields }) => Number(fields['duration']) + zeroOf(fields) - zeroOf(container));
  const duration = number(container, 'duration');
  const longest = ends.length > 0 ? Math.max(...ends) : undefined;
  if (duration !== undefined && longest !== undefined && Math.abs(duration - longest) > Math.max(0.5, longest * 0.05))
    yield [
      'wrong-duration',
      `the container declares ${duration.toFixed(3)} s, its longest stream ends at ${longest.toFixed(3)} s`,
    ];
}

function* ofStream({ part, fields }: Seen['streams'][number], { container }: Seen): Generator<Found> {
  const differs = (path: string): boolean => {
    const [a, b] = bothOf(sides((tool) => part[tool]?.[path]));
    return a !== undefined && b !== undefined && a !== b;
  };
  if (fields['encrypted'] === true) yield ['encrypted', 'the stream is encrypted: its content cannot be checked'];
  if (part.kind === 'video') {
    const colours = ['color.primaries', 'color.transfer', 'color.matrix', 'color.range'].filter((path) =>
      part.fields.some((one) => one.field === path && one.agreement === 'disputed'),
    );
    if (colours.length > 0)
      yield [
        'color-mismatch',
        `the tools read different ${colours.map((path) => path.slice(6)).join(', ')}: ` +
          'container and stream may be tagged differently',
      ];
    const wide = fields['color.primaries'] === 'bt2020' || fields['color.matrix'] === 'bt2020nc';
    if (
      ['smpte2084', 'arib-std-b67'].includes(String(fields['color.transfer'])) &&
      !wide &&
      fields['color.primaries'] !== undefined
    )
      yield ['odd-color', `an HDR transfer with primaries ${String(fields['color.primaries'])}`];
    if (fields['hdr.mastering_display'] === true && fields['color.transfer'] === undefined)
      yield ['odd-color', 'mastering display metadata without a transfer: HDR10 needs PQ (smpte2084)'];
    const [frames, rate, seconds] = [
      number(fields, 'frames_count'),
      number(fields, 'frame_rate'),
      number(fields, 'duration'),
    ];
    if (frames !== undefined && rate !== undefined && rate > 0 && seconds !== undefined && frames > 5) {
      const off = Math.abs(frames / rate - seconds);
      if (off > Math.max(0.5, seconds * 0.1, 2.5 * frameOf(fields)) && fields['frame_rate_mode'] !== 'variable')
        yield [
          'broken-timestamps',
          `${frames} frames at ${rate.toFixed(3)} per second take ${(frames / rate).toFixed(3)} s, ` +
            `the stream lasts ${seconds.toFixed(3)} s`,
        ];
    }
    if (differs('size.width') || differs('size.height'))
      yield ['size-mismatch', 'container and stream may declare different picture sizes'];
  }
  const start = number(fields, 'start_time');
  const zero = zeroOf(container);
  if (start !== undefined && part.kind !== 'subtitle' && part.kind !== 'data' && start - zero > 0.5)
    yield ['late-start', `starts ${(start - zero).toFixed(3)} s after the file`];
}

function presence({ comparison }: Seen): Warning[] {
  return comparison.parts
    .filter(({ onlyBy }) => onlyBy !== undefined)
    .map(({ path, onlyBy, kind }) => ({
      code: 'stream-seen-by-one' satisfies WarningCode,
      message: `only ${onlyBy!} sees this ${kind} stream`,
      path,
    }));
}

const FORMATS: readonly (readonly [string, string])[] = [
  ['hdr.dolby_vision_rpu', 'Dolby Vision'],
  ['hdr.dynamic', 'HDR10+'],
];

/** What the pictures carry and neither tool read from the container or its headers. */
export const notSignalled = (part: Part, bitstream: Bitstream, isListed: (one: Caption) => boolean): Warning[] =>
  aboutPart(part.path, ofPictures(part, bitstream, isListed));

function* ofPictures(
  part: Part,
  { fields, captions }: Bitstream,
  isListed: (one: Caption) => boolean,
): Generator<Found> {
  const says = (field: string) => bothOf(sides((tool) => part[tool]?.[field])).some((value) => value !== undefined);
  const signalled = (field: string) =>
    field === 'hdr.dolby_vision_rpu' ? says('hdr.dolby_vision_profile') : says(field);
  const hidden = FORMATS.filter(([field]) => fields[field] === true && !signalled(field)).map(([, name]) => name);
  if (hidden.length > 0)
    yield ['hdr-not-signalled', `the pictures carry ${hidden.join(' and ')}, which the container does not declare`];
  const unlisted = captions.filter((one) => !isListed(one)).map(nameOf);
  if (unlisted.length > 0)
    yield ['captions-not-signalled', `the pictures carry captions (${unlisted.join(', ')}), which neither tool lists`];
  if (fields['scan_type'] === 'interlaced' && bothOf(part).some((side) => side?.['scan_type'] === 'progressive'))
    yield ['interlace-mismatch', 'there are interlaced pictures, but the stream is declared progressive'];
}

const nameOf = ({ kind, service }: Caption): string =>
  kind === 'a53' ? 'CEA-608 or CEA-708' : `${kind.toUpperCase()} ${service ?? ''}`.trim();

/** Times without a packet in one stream of a timeline. */
export interface StreamGaps {
  /** Its index, as ffprobe numbers it. */
  stream: number;
  count: number;
  /** The first one, in seconds. */
  at: number;
  seconds: number;
}

/** What reading the media itself showed. Of an encrypted stream, a decoder takes every byte for damage. */
export function damaged(
  { parts, ffprobe }: Comparison,
  damage: string | undefined,
  gaps: readonly StreamGaps[] = [],
): Warning[] {
  const found: Warning[] = [];
  const warn = (code: WarningCode, message: string, path: string) => found.push({ code, message, path });
  const isEncrypted = parts.some((part) => told(part, 'encrypted') === true);
  if (damage !== undefined && !isEncrypted) {
    const reported = `ffprobe reports ${damage}`;
    if (!ffprobe?.isProtected) warn('damaged', reported, 'container');
    else warn('encrypted', `${reported}; the file has data for decryption, so it may be encrypted`, 'container');
  }
  for (const { stream, count, at, seconds } of gaps) {
    const part = parts.find(({ pair }) => pair?.ffprobe?.order === stream);
    if (!part) continue;
    const more = count > 1 ? `, the first of ${count} gaps` : '';
    warn('gaps', `no packets for ${seconds.toFixed(3)} s at ${at.toFixed(3)} s${more}`, part.path);
  }
  return found;
}
