/** What the graph prints, as the ffmpeg of the image wrote it: five seconds of black with a tone. */
export const frameLine = (frame: number, time: number | string, ticks = frame): string =>
  `frame:${String(frame).padEnd(4)} pts:${String(ticks).padEnd(7)} pts_time:${time}`;

export const block = (stream: number, frame: number, time: number | string, pairs: Record<string, unknown> = {}) =>
  [
    frameLine(frame, time, stream === 0 ? frame : Math.round(Number(time) * 100_000)),
    ...Object.entries(pairs).map(([key, value]) => `lavfi.${key}=${String(value)}`),
    `qc=${stream}`,
    '',
  ].join('\n');

const LOUD = {
  'r128.M': '-21.054',
  'r128.S': '-21.054',
  'r128.I': '-21.100',
  'r128.LRA': '0.000',
  'r128.LRA.low': '-21.000',
  'r128.LRA.high': '-21.000',
  'r128.true_peaks_ch0': '0.125',
  'r128.true_peak': '0.125',
  'astats.Overall.Peak_level': '-18.063921',
  'astats.Overall.Flat_factor': '0.000000',
};

export const BLACK_WITH_TONE = Array.from({ length: 50 }, (_, at) => {
  const time = at / 10;
  const found = at === 0 ? { black_start: 0 } : at === 20 ? { 'freezedetect.freeze_start': 0 } : {};
  return block(0, at, time, found) + block(1, at, time, LOUD);
}).join('');
