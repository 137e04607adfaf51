/** A file in one sentence, from its report: pure. */
import type { ProbeReport } from '../../api_types.ts';
import { several } from '../parts/figures.ts';

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

const rounded = (value: number): string => String(Math.round(value * 1000) / 1000);

export const rateOf = ({ numerator, denominator }: { numerator: number; denominator: number }): string =>
  rounded(numerator / denominator);

/** Undefined parts are left out: what is not known is not said. */
const joined = (...parts: (string | undefined | false)[]): string => parts.filter(Boolean).join(' ');

function videoOf({ codec, size, frame_rate: rate }: Stream): string {
  const name = codec?.name ?? 'video';
  return joined(
    CODECS[name] ?? name,
    size?.width !== undefined && size.height !== undefined && `${size.width}x${size.height}`,
    rate !== undefined && rate.numerator > 0 && `at ${rateOf(rate)} fps`,
  );
}

function audioOf({ codec, channels }: Stream): string {
  const name = codec?.name ?? 'audio';
  return joined(CODECS[name] ?? name, channels !== undefined && (CHANNELS[channels] ?? `${channels} channels`));
}

export function sentenceOf(report: ProbeReport): string {
  const { container, streams, warnings, diff } = report;
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
  const found = [...(diff ? [several(diff.length, 'disagreement')] : []), several(warnings.length, 'warning')];
  return `${parts.join(', ')}. ${found.join(', ')}.`;
}
