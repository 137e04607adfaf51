/**
 * The signals by which EBU Tech 3341 and 3342 try a meter, as far as they are defined by tones: cases 7 and 8 of the
 * first and 5 and 6 of the second are programmes, 20 to 23 of the first are made by a filter that is not given. Nothing
 * here reports momentary loudness (12 to 14).
 */
const RATE = 48_000;

/** A tone in all channels: seconds, and its peak in dBFS. */
type Part = readonly [seconds: number, dbfs: number];
const SILENT = -Infinity;

interface Signal {
  /** Of each channel, relative to the level of a part. Two at 0 dB if not given. */
  channels?: readonly number[];
  parts: readonly Part[];
  /** 1 kHz if not given. */
  hz?: number;
  degrees?: number;
}

export interface EbuCase {
  name: string;
  signal: Signal;
  fact: 'integrated' | 'short_term_max' | 'true_peak' | 'range';
  is: number;
  /** How far it may be off: below, above. */
  within: readonly [number, number];
}

const LUFS = [0.1, 0.1] as const;
const LU = [1, 1] as const;
const DBTP = [0.4, 0.2] as const;

const integrated = (number: number, is: number, parts: readonly Part[], channels?: readonly number[]): EbuCase => ({
  name: `3341, case ${number}`,
  signal: { parts, ...(channels ? { channels } : {}) },
  fact: 'integrated',
  is,
  within: LUFS,
});

const shortTerm = (name: string, is: number, parts: readonly Part[]): EbuCase => ({
  name: `3341, case ${name}`,
  signal: { parts },
  fact: 'short_term_max',
  is,
  within: LUFS,
});

const truePeak = (number: number, is: number, part: number, degrees: number, full: number): EbuCase => ({
  name: `3341, case ${number}`,
  signal: { parts: [[2, 20 * Math.log10(full)]], hz: RATE / part, degrees },
  fact: 'true_peak',
  is,
  within: DBTP,
});

const range = (number: number, is: number, levels: readonly number[]): EbuCase => ({
  name: `3342, case ${number}`,
  signal: { parts: levels.map((level) => [20, level] as const) },
  fact: 'range',
  is,
  within: LU,
});

const times = (count: number, parts: readonly Part[]): Part[] => Array.from({ length: count }, () => parts).flat();

export const EBU_CASES: readonly EbuCase[] = [
  integrated(1, -23, [[20, -23]]),
  integrated(2, -33, [[20, -33]]),
  integrated(3, -23, [
    [10, -36],
    [60, -23],
    [10, -36],
  ]),
  integrated(4, -23, [
    [10, -72],
    [10, -36],
    [60, -23],
    [10, -36],
    [10, -72],
  ]),
  integrated(5, -23, [
    [20, -26],
    [20.1, -20],
    [20, -26],
  ]),
  // Left, right, centre and two surrounds.
  integrated(6, -23, [[20, 0]], [-28, -28, -24, -30, -30]),
  shortTerm(
    '9',
    -23,
    times(5, [
      [1.34, -20],
      [1.66, -30],
    ]),
  ),
  ...Array.from({ length: 20 }, (_, n) =>
    shortTerm(`10, part ${n + 1}`, -23, [
      [n * 0.15, SILENT],
      [3, -23],
      [1, SILENT],
    ]),
  ),
  shortTerm(
    '11',
    -19,
    Array.from({ length: 20 }, (_, n): Part[] => [
      [n * 0.15, SILENT],
      [3, n - 38],
      [3 - n * 0.15, SILENT],
    ]).flat(),
  ),
  truePeak(15, -6, 4, 0, 0.5),
  truePeak(16, -6, 4, 45, 0.5),
  truePeak(17, -6, 6, 60, 0.5),
  truePeak(18, -6, 8, 67.5, 0.5),
  truePeak(19, 3, 4, 45, 1.41),
  range(1, 10, [-20, -30]),
  range(2, 5, [-20, -15]),
  range(3, 20, [-40, -20]),
  range(4, 15, [-50, -35, -20, -35, -50]),
];

const factor = (decibels: number): number => 10 ** (decibels / 20);

/** A tone that begins at once has peaks that are not its own. */
const FADE = RATE / 100;

export function signalWav({ channels = [0, 0], parts, hz = 1_000, degrees = 0 }: Signal): Buffer {
  const total = parts.reduce((sum, [seconds]) => sum + Math.round(seconds * RATE), 0);
  const samples = new Float32Array(total * channels.length);
  let at = 0;
  for (const [seconds, dbfs] of parts) {
    const end = at + Math.round(seconds * RATE);
    for (; at < end; at += 1) {
      const faded = hz === 1_000 ? 1 : Math.min(1, at / FADE, (total - 1 - at) / FADE);
      const tone = faded * factor(dbfs) * Math.sin((2 * Math.PI * hz * at) / RATE + (degrees * Math.PI) / 180);
      for (const [channel, level] of channels.entries()) samples[at * channels.length + channel] = tone * factor(level);
    }
  }
  return floatWav(samples, channels.length, RATE);
}

/** By their number: one in the centre, two at the front, with centre and back. */
const MASKS: Readonly<Record<number, number>> = { 1: 0x4, 2: 0x3, 5: 0x37 };

/** WAV with samples of 32 bits, its channels named by a mask. */
export function floatWav(samples: Float32Array, channels: number, rate: number): Buffer {
  const data = Buffer.from(samples.buffer);
  const frame = channels * 4;
  const head = Buffer.alloc(68);
  head.write('RIFF', 0);
  head.writeUInt32LE(60 + data.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(40, 16);
  head.writeUInt16LE(0xfffe, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * frame, 28);
  head.writeUInt16LE(frame, 32);
  head.writeUInt16LE(32, 34);
  head.writeUInt16LE(22, 36);
  head.writeUInt16LE(32, 38);
  head.writeUInt32LE(MASKS[channels]!, 40);
  Buffer.from('0300000000001000800000aa00389b71', 'hex').copy(head, 44);
  head.write('data', 60);
  head.writeUInt32LE(data.length, 64);
  return Buffer.concat([head, data]);
}
