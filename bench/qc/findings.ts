/** What is found of passages that were put into films at known times. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { QcReport } from '../../src/media/qc/schema.ts';
import { random, type Random } from '../report/random.ts';
import { summary } from '../statistics.ts';
import { checked } from './program.ts';

export interface Passage {
  from: number;
  to: number;
}
interface Film {
  seconds: number;
  black: Passage[];
  freeze: Passage[];
  silence: Passage[];
  clipped: boolean;
}

export const FPS = 25;
export const CODECS = [
  ['mp4', '-c:v libx264 -preset ultrafast -crf 23 -c:a aac'],
  ['mp4', '-c:v libx264 -preset veryfast -b:v 300k -c:a aac'],
  ['mkv', '-c:v libx265 -preset ultrafast -x265-params log-level=error -c:a flac'],
  ['ts', '-c:v mpeg2video -b:v 1M -c:a mp2'],
  ['mov', '-c:v prores_ks -profile:v 0 -c:a pcm_s16le'],
  ['mkv', '-c:v ffv1 -c:a ac3'],
  ['avi', '-c:v mjpeg -q:v 4 -c:a pcm_s16le'],
] as const;

/** Up to two in each half of the film, so that they do not meet. Most are longer than the 2 s that are reported. */
function passages(r: Random, seconds: number): Passage[] {
  const half = seconds / 2;
  return [0, 1].flatMap((part) => {
    if (r.chance(0.5)) return [];
    const long = r.pick([1.2, 2.4, 3, 4.2]);
    const from = part * half + 0.6 + r.next() * (half - long - 1.2);
    return [{ from: Math.round(from * FPS) / FPS, to: Math.round((from + long) * FPS) / FPS }];
  });
}

function filmOf(r: Random): Film {
  const seconds = r.between(14, 20);
  // Black and freezes share the pictures: each has a half of the film.
  const [first, second] = [passages(r, seconds), passages(r, seconds)];
  const isEarly = ({ to }: Passage): boolean => to < seconds / 2;
  return {
    seconds,
    black: first.filter(isEarly),
    freeze: second.filter((one) => !isEarly(one)),
    silence: passages(r, seconds),
    clipped: r.chance(0.3),
  };
}

export const during = ({ from, to }: Passage): string => `between(t,${from},${to - 0.001})`;

function make(film: Film, file: string, options: string, source: string): void {
  const pictures = [
    ...film.black.map((one) => `drawbox=color=black:t=fill:enable='${during(one)}'`),
    ...film.freeze.map(({ from, to }) => {
      const [first, last] = [Math.round(from * FPS), Math.round(to * FPS) - 1];
      return `split[a][b];[a][b]freezeframes=first=${first}:last=${last}:replace=${first}`;
    }),
  ];
  const sound = [
    // Clipped before it is encoded: some encoders take samples above full scale.
    film.clipped ? 'volume=30dB,aformat=sample_fmts=s16' : 'anull',
    ...film.silence.map((one) => `volume=volume=0:enable='${during(one)}':eval=frame`),
  ];
  const graph = `[0]${['format=yuv420p', ...pictures].join(',')}[v];[1]asetnsamples=480,${sound.join(',')}[a]`;
  const noise = '-f lavfi -i anoisesrc=a=0.1:c=pink:r=48000';
  const inputs = `-v error -y -f lavfi -i ${source}=s=320x180:r=${FPS} ${noise}`;
  const outputs = `-map [v] -map [a] -t ${film.seconds} ${options}`;
  execFileSync('ffmpeg', [...inputs.split(' '), '-filter_complex', graph, ...outputs.split(' '), file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

const LEAST_S = 2;
const overlap = (a: Passage, b: Passage): number => Math.max(0, Math.min(a.to, b.to) - Math.max(a.from, b.from));

export class Score {
  put = 0;
  found = 0;
  false = 0;
  readonly errors: number[] = [];

  take(truth: readonly Passage[], told: readonly Passage[], excused: readonly Passage[] = []): void {
    const wanted = truth.filter(({ from, to }) => to - from >= LEAST_S);
    this.put += wanted.length;
    for (const one of wanted) {
      const best = told.find((other) => overlap(one, other) > (one.to - one.from) / 2);
      if (!best) continue;
      this.found += 1;
      this.errors.push(Math.abs(best.from - one.from), Math.abs(best.to - one.to));
    }
    this.false += told.filter((one) => ![...wanted, ...excused].some((other) => overlap(one, other) > 0)).length;
  }

  /** What has no time: whether it is there, whether it is told, and how far off the value is. */
  property(isThere: boolean, isTold: boolean, off?: number): void {
    if (isThere) this.put += 1;
    if (isThere && isTold) this.found += 1;
    if (!isThere && isTold) this.false += 1;
    if (isThere && isTold && off !== undefined) this.errors.push(off);
  }

  row(check: string): string[] {
    const { p50, p99, most } = summary(this.errors);
    const reported = this.found + this.false;
    const share = (part: number, whole: number): string =>
      whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} % (${part} of ${whole})`;
    return [
      check,
      share(this.found, this.put),
      share(this.found, reported),
      ...[p50, p99, most].map((value) => (Number.isNaN(value) ? '–' : value.toFixed(2))),
    ];
  }
}

const listed = (report: QcReport, check: 'black' | 'freeze'): Passage[] =>
  report.video.flatMap((stream) => stream[check].list);

export async function findings(program: readonly string[], folder: string, count: number): Promise<string[][]> {
  const scores = { black: new Score(), freeze: new Score(), silence: new Score(), clipping: new Score() };
  for (let seed = 1; seed <= count; seed += 1) {
    const r = random(seed);
    const film = filmOf(r);
    const [kind, options] = CODECS[seed % CODECS.length]!;
    const file = join(folder, `film.${kind}`);
    make(film, file, options, r.pick(['testsrc2', 'mandelbrot']));
    const report = (await checked(program, file))!;
    const silence = report.audio.flatMap((stream) => stream.silence.list);
    scores.black.take(film.black, listed(report, 'black'));
    // A black passage stands still.
    scores.freeze.take(film.freeze, listed(report, 'freeze'), film.black);
    scores.silence.take(film.silence, silence);
    const whole = [{ from: 0, to: film.seconds }];
    scores.clipping.take(film.clipped ? whole : [], report.audio.some(({ clipping }) => clipping) ? whole : []);
  }
  return Object.entries(scores).map(([check, score]) => score.row(check));
}
