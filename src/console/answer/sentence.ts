/** What a file is, and whether it is fine, each in one line: pure. */
import type { HlsReport, ProbeReport, QcReport } from '../../api_types.ts';
import type { Tone } from '../../base/signs.ts';
import { findingsIn } from '../../media/qc/words.ts';
import { joined, several } from '../parts/figures.ts';
import type { Facts, Reports } from '../worker/protocol.ts';

type Stream = ProbeReport['streams'][number];

const CODECS: Record<string, string> = {
  h264: 'H.264',
  hevc: 'H.265',
  av1: 'AV1',
  vp9: 'VP9',
  prores: 'ProRes',
  aac: 'AAC',
  ac3: 'AC-3',
  eac3: 'E-AC-3',
  opus: 'Opus',
  mp3: 'MP3',
};
const CHANNELS: Record<number, string> = { 1: 'mono', 2: 'stereo', 6: '5.1', 8: '7.1' };

export const sizeOf = ({ size }: Stream) =>
  size?.width !== undefined && size.height !== undefined && `${size.width}x${size.height}`;

export const rateOf = ({ frame_rate: rate }: Stream) =>
  rate !== undefined && rate.numerator > 0 && `${Math.round((rate.numerator / rate.denominator) * 1000) / 1000} fps`;

function videoOf(stream: Stream): string {
  const name = stream.codec?.name ?? 'video';
  const rate = rateOf(stream);
  return joined(' ', [CODECS[name] ?? name, sizeOf(stream), rate && `at ${rate}`]);
}

function audioOf({ codec, channels }: Stream): string {
  const name = codec?.name ?? 'audio';
  return joined(' ', [CODECS[name] ?? name, channels !== undefined && (CHANNELS[channels] ?? `${channels} channels`)]);
}

export function sentenceOf({ container, streams }: Pick<ProbeReport, 'container' | 'streams'>): string {
  const video = streams.filter(({ type, attached_picture: cover }) => type === 'video' && cover !== true);
  const audio = streams.filter(({ type }) => type === 'audio');
  const others = streams.length - Math.min(1, video.length) - Math.min(1, audio.length);
  const parts = [
    (container.format ?? 'unknown format').toUpperCase(),
    ...(container.duration === undefined ? [] : [`${container.duration.toFixed(1)} s`]),
    ...video.slice(0, 1).map(videoOf),
    ...audio.slice(0, 1).map(audioOf),
    ...(others > 0 ? [several(others, 'further stream')] : []),
  ];
  return `${parts.join(', ')}.`;
}

const ladderOf = ({ summary: { variants, segments, live, duration } }: HlsReport): string =>
  `HLS, ${several(variants, 'variant')}, ${several(segments, 'segment')}, ` +
  `${live ? 'live' : `${duration.toFixed(1)} s`}.`;

/** Undefined: nothing that was made of it says what it is. */
export function whatItIs({ report, hls }: Reports): string | undefined {
  return report ? sentenceOf(report) : hls ? ladderOf(hls) : undefined;
}

/** Something that a tab of the answer shows in full. */
export interface Signal {
  kind: Tone;
  text: string;
  tab: string;
}

const OF_POLICY: Record<string, Tone> = { pass: 'good', fail: 'bad', 'not-applicable': 'none' };
const OF_C2PA: Record<string, Tone> = { Valid: 'good', Trusted: 'good', Invalid: 'bad' };

const toLookAt = (count: number): Tone => (count === 0 ? 'good' : 'warn');
const counted = (count: number, noun: string, tab: string): Signal => ({
  kind: toLookAt(count),
  text: several(count, noun),
  tab,
});

/** An early end is to be looked at, too. */
const toLookAtIn = (qc: QcReport, waived: number): number => findingsIn(qc) - waived + (qc.cut === undefined ? 0 : 1);

export function signalsOf({ report, hls, c2pa, qc, waived, policy, comparison }: Reports): Signal[] {
  const content = qc && toLookAtIn(qc, waived?.length ?? 0);
  const signals: (Signal | false | null | undefined)[] = [
    policy && {
      kind: OF_POLICY[policy.outcome] ?? 'warn',
      text: `Policy ${policy.name ?? 'of the request'}: ${policy.outcome}`,
      tab: 'policy',
    },
    report?.diff && counted(report.diff.length, 'disagreement', 'disagreements'),
    report && counted(report.warnings.length, 'warning', 'overview'),
    hls && {
      kind: hls.summary.must_fix > 0 ? 'bad' : toLookAt(hls.summary.should_fix),
      text: `${hls.summary.must_fix} must-fix, ${hls.summary.should_fix} should-fix`,
      tab: 'ladder',
    },
    c2pa &&
      c2pa.active_manifest !== null && {
        kind: OF_C2PA[c2pa.validation_state ?? ''] ?? 'warn',
        text: `C2PA: ${c2pa.validation_state ?? 'not validated'}`,
        tab: 'provenance',
      },
    content !== null && counted(content, 'content finding', 'content'),
    comparison && {
      ...counted(comparison.summary.fields, 'changed field', 'versions'),
      kind: toLookAt(comparison.summary.fields - comparison.summary.known),
    },
  ];
  return signals.filter((signal) => signal !== false && signal !== null && signal !== undefined);
}

/** The worst decides. What nobody looked at is not called fine. */
export function verdictOf(
  { status, 'tool-errors': errors }: Pick<Facts, 'status' | 'tool-errors'>,
  signals: readonly Signal[],
): { kind: Tone; text: string } {
  const bad = signals.find(({ kind }) => kind === 'bad');
  const open = signals.filter(({ kind }) => kind === 'warn').length;
  if (status === 'error') return { kind: 'bad', text: 'Failed' };
  if (bad) return { kind: 'bad', text: 'Not fine' };
  if (status === 'with-errors' || Object.keys(errors).length > 0) return { kind: 'warn', text: 'Some of it failed' };
  if (open > 0) return { kind: 'warn', text: `${several(open, 'thing')} to look at` };
  return signals.length > 0 ? { kind: 'good', text: 'Fine' } : { kind: 'none', text: 'Not judged' };
}
