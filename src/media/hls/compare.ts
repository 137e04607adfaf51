/** Compares measurements with the declarations of playlists. Pure. */
import { has, number, text, type Playlist, type Rendition, type Segment, type Variant } from './playlist.ts';
import type { Facts, Stream } from './probe.ts';
import { exceeds } from './exceeds.ts';
import { quote } from './rule.ts';
import type { Note } from './rules/catalog.ts';
import { isAudioCodec, isVideoCodec, words } from './rules/codecs.ts';

export interface MeasuredSegment {
  segment: Segment;
  bytes: number;
  facts: Facts | undefined;
}

/** Tolerance for audio frames and for frames without a duration. */
const DURATION_NEAR = 0.25;
const BREAK_NEAR = 0.25;
/** 33 bits of a 90 kHz clock. */
const WRAP = 2 ** 33 / 90_000;

export function compareSegments(
  measured: readonly MeasuredSegment[],
  playlist: Playlist,
  independent: boolean,
  note: Note,
): void {
  let before: MeasuredSegment | undefined;
  for (const one of measured) {
    const { segment, bytes, facts } = one;
    const { line, duration } = segment;
    if (segment.bitrate !== undefined && segment.bitrate > 0 && segment.range === undefined && duration > 0) {
      const rate = (bytes * 8) / duration / 1000;
      if (Math.abs(rate - segment.bitrate) > 0.1 * segment.bitrate)
        note('bitrate-measured', line, `${Math.round(rate)} kbit/s, but the playlist says ${segment.bitrate}`);
    }
    if (facts === undefined || !Number.isFinite(facts.end - facts.start)) {
      before = undefined;
      continue;
    }
    const video = facts.streams.some(({ type }) => type === 'video');
    if (playlist.iframesOnly) {
      if (video && !facts.startsWithKey) note('iframes-keyframe', line);
      continue;
    }
    const seconds = facts.end - facts.start;
    if (Math.abs(seconds - duration) > Math.max(DURATION_NEAR, 0.05 * duration))
      note(
        'duration-measured',
        segment.infLine || line,
        `${seconds.toFixed(3)} s, but the playlist says ${duration} s`,
      );
    if (
      playlist.targetDuration !== undefined &&
      Math.round(seconds - 0.05) > playlist.targetDuration &&
      Math.round(duration) <= playlist.targetDuration
    )
      note('duration-over-target', line, `${seconds.toFixed(3)} s, and the target is ${playlist.targetDuration} s`);
    if (video && !facts.startsWithKey) {
      if (independent) note('keyframe-missing', line);
      else if (facts.keys === 0) note('keyframe-absent', line);
    }
    if (before?.facts !== undefined && before.segment.sequence + 1n === segment.sequence && !segment.discontinuity) {
      let step = facts.start - before.facts.end;
      if (Math.abs(step) > WRAP / 2) step -= Math.sign(step) * WRAP;
      if (Math.abs(step) > BREAK_NEAR)
        note('timestamps-break', line, `${step > 0 ? 'a gap' : 'an overlap'} of ${Math.abs(step).toFixed(3)} s`);
    }
    before = one;
  }
}

export interface Rates {
  count: number;
  peak: number;
  average: number;
  bytes: number;
  seconds: number;
  /** Whether every segment was measured. */ all: boolean;
}

/**
 * Bits per second by the playlist's own durations. Segments shorter than half a target duration do not count as a peak:
 * players buffer across them.
 */
export function ratesOf(measured: readonly MeasuredSegment[], playlist: Playlist): Rates {
  let [peak, bytes, seconds] = [0, 0, 0];
  for (const { segment, bytes: size } of measured) {
    bytes += size;
    seconds += segment.duration;
    if (segment.duration > 0 && (playlist.iframesOnly || segment.duration >= 0.5 * (playlist.targetDuration ?? 0)))
      peak = Math.max(peak, (size * 8) / segment.duration);
  }
  const average = seconds > 0 ? (bytes * 8) / seconds : 0;
  return {
    count: measured.length,
    peak: Math.round(Math.max(peak, average)),
    average: Math.round(average),
    bytes,
    seconds,
    all: measured.length === playlist.segments.filter(({ gap }) => !gap).length,
  };
}

const rate = (bits: number): string => `${Math.round(bits / 1000)} kbit/s`;

export type VariantRates = Pick<Rates, 'peak' | 'average'>;

/** `all`: whether every segment of the variant and of its sound was measured. */
export function compareRates(
  variant: Variant,
  { peak, average: measured }: VariantRates,
  all: boolean,
  note: Note,
): void {
  const { tag } = variant;
  const bandwidth = number(tag, 'BANDWIDTH') ?? 0;
  const average = number(tag, 'AVERAGE-BANDWIDTH');
  if (exceeds(peak, bandwidth))
    note('bandwidth-exceeded', tag.line, `${rate(peak)}, but the playlist says ${rate(bandwidth)}`);
  else if (all && !variant.iframes && peak < 0.5 * bandwidth)
    note('bandwidth-unused', tag.line, `the highest is ${rate(peak)}, but the playlist says ${rate(bandwidth)}`);
  if (average !== undefined && exceeds(measured, average)) {
    const where = all ? '' : ' in the measured segments';
    note('average-exceeded', tag.line, `${rate(measured)}${where}, but the playlist says ${rate(average)}`);
  }
}

const FAMILIES: Readonly<Record<string, RegExp>> = {
  h264: /^avc[1-4]/,
  hevc: /^(hvc1|hev1|dvh1|dvhe)/,
  av1: /^(av01|dav1)/,
  vp9: /^vp09/,
  vp8: /^vp08/,
  mpeg4: /^mp4v/,
  mpeg2video: /^mp4v/,
  aac: /^mp4a\.(40\.(?!34)|67|68|66)|^mp4a$|^usac/,
  aac_latm: /^mp4a/,
  mp3: /^mp4a\.(40\.34|69|6[bB])/,
  ac3: /^ac-3/,
  eac3: /^ec-3/,
  ac4: /^ac-4/,
  opus: /^opus/i,
  flac: /^flac/i,
  alac: /^alac/,
};
const PROFILES: Readonly<Record<string, string>> = {
  Baseline: '42',
  'Constrained Baseline': '42',
  Main: '4d',
  Extended: '58',
  High: '64',
  'High 10': '6e',
  'High 4:2:2': '7a',
};

/** `own`: streams of the variant's own segments; `others`: of the audio that is played together with it. */
export function compareFormats(variant: Variant, own: readonly Stream[], others: readonly Stream[], note: Note): void {
  const { tag } = variant;
  const codecs = words(text(tag, 'CODECS'));
  const all = [...own, ...others].filter(({ type }) => type !== 'other');
  if (codecs.length > 0 && all.length > 0) {
    for (const { codec } of all) {
      const family = FAMILIES[codec];
      if (family !== undefined && !codecs.some((word) => family.test(word)))
        note('codecs-measured', tag.line, `${quote(codecs.join(','))} does not name ${codec}`);
    }
    // CODECS may name formats that an I-frame playlist does not contain.
    if (!variant.iframes) {
      for (const codec of codecs) {
        const type = isVideoCodec(codec) ? 'video' : isAudioCodec(codec) ? 'audio' : undefined;
        if (type !== undefined && !all.some((stream) => stream.type === type))
          note('codecs-measured', tag.line, `${quote(codec)} is named, and there is no ${type}`);
      }
    }
  }
  const video = own.find(({ type }) => type === 'video');
  if (video === undefined) return;
  const avc = codecs.find((codec) => /^avc[13]\.[0-9a-f]{6}$/i.test(codec));
  if (video.codec === 'h264' && avc !== undefined) {
    const profile = PROFILES[video.profile];
    const level = Number.parseInt(avc.slice(9), 16);
    if (profile !== undefined && profile !== avc.slice(5, 7).toLowerCase())
      note('codecs-profile', tag.line, `${quote(avc)}, and it is of the profile ${video.profile}`);
    else if (video.level > 0 && video.level > level)
      note('codecs-profile', tag.line, `${quote(avc)}, and it is of level ${video.level / 10}`);
  }
  const resolution = text(tag, 'RESOLUTION');
  if (resolution !== undefined && video.width > 0 && resolution !== `${video.width}x${video.height}`)
    note('resolution-measured', tag.line, `${video.width}x${video.height}, but the playlist says ${resolution}`);
  const frameRate = number(tag, 'FRAME-RATE');
  if (!variant.iframes && frameRate !== undefined && video.frameRate > 0 && Math.abs(video.frameRate - frameRate) > 0.5)
    note('frame-rate-measured', tag.line, `${Number(video.frameRate.toFixed(3))}, but the playlist says ${frameRate}`);
  if (video.interlaced) note('interlaced', tag.line);
}

export function compareChannels({ tag }: Rendition, streams: readonly Stream[], note: Note): void {
  const said = Number.parseInt(text(tag, 'CHANNELS') ?? '', 10);
  const audio = streams.find(({ type }) => type === 'audio');
  if (
    said > 0 &&
    audio !== undefined &&
    audio.channels > 0 &&
    audio.channels !== said &&
    !(text(tag, 'CHANNELS') ?? '').includes('/')
  )
    note('channels-measured', tag.line, `${audio.channels}, but the playlist says ${said}`);
}

export const isIndependent = (main: Playlist, playlist: Playlist): boolean =>
  has(main, 'EXT-X-INDEPENDENT-SEGMENTS') || has(playlist, 'EXT-X-INDEPENDENT-SEGMENTS');
