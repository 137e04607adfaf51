/** A timeline in words and figures, for the console and the page of a report. */
import { bitRate, several } from '../../base/scaled.ts';
import type { StreamTimeline } from '../../api_types.ts';

/** Bits a second. */
const peakOf = ({ bits, step }: StreamTimeline): number => bits.reduce((a, b) => Math.max(a, b), 0) / step;

export function streamTimes(stream: StreamTimeline): string {
  const { packets, bytes, start, end, bits, keys, gops, gaps, jumps, untimed } = stream;
  const length = start === null || end === null ? 0 : end - start;
  return [
    several(packets, 'packet'),
    length > 0 && `${bitRate(Math.round((bytes * 8) / length))} on average`,
    bits.length > 0 && `${bitRate(Math.round(peakOf(stream)))} at most`,
    keys.every ? 'every packet is a key frame' : keys.count > 0 && several(keys.count, 'key frame'),
    gops && `${gops.min.toFixed(2)} to ${gops.max.toFixed(2)} s apart`,
    gaps.count > 0 && several(gaps.count, 'gap'),
    jumps.count > 0 && `${several(jumps.count, 'jump')} back`,
    untimed > 0 && `${several(untimed, 'packet')} without a time`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Of all streams together, in seconds of the media; one second where no packet has a time. */
export function wholeOf(streams: readonly StreamTimeline[]): { from: number; to: number } {
  const timed = streams.filter(({ bits }) => bits.length > 0);
  const from = Math.min(...timed.map(({ first }) => first));
  const to = Math.max(...timed.map(({ first, step, bits }) => first + step * bits.length));
  return Number.isFinite(from) && to > from ? { from, to } : { from: 0, to: 1 };
}
