/** What is found of what films are made with: fields, bars, phase, an offset of samples, unequal tracks, a cut. */
import { execFileSync } from 'node:child_process';
import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Fields, QcBars, QcReport } from '../../src/media/qc/schema.ts';
import { random, type Random } from '../report/random.ts';
import { Score } from './findings.ts';
import { checked } from './program.ts';

const FIELDS = ['progressive', 'top first', 'bottom first'] as const;
const SET: Readonly<Record<Fields, string>> = { progressive: 'prog', 'top first': 'tff', 'bottom first': 'bff' };
const X264: Readonly<Record<Fields, string>> = { progressive: 'a=0', 'top first': 'tff=1', 'bottom first': 'bff=1' };

/** Codecs that keep fields, and the order that is declared. */
const KINDS = [
  ['mp4', (declared: Fields) => `-c:v libx264 -preset ultrafast -crf 20${interlaced(declared)} -c:a aac`],
  ['ts', (declared: Fields) => `-c:v mpeg2video -b:v 6M${interlaced(declared, false)} -c:a mp2`],
  ['mov', (declared: Fields) => `-c:v prores_ks -profile:v 0${interlaced(declared, false)} -c:a pcm_s16le`],
  ['mkv', () => '-c:v ffv1 -c:a flac'],
] as const;

function interlaced(declared: Fields, isX264 = true): string {
  if (declared === 'progressive') return '';
  return ` -flags +ilme+ildct${isX264 ? ` -x264-params ${X264[declared]}` : ''}`;
}

interface Film {
  seconds: number;
  fields: Fields;
  declared: Fields;
  bars: QcBars;
  sound: 'two' | 'mono' | 'opposite';
  offset: number;
  starts: number;
  ends: number;
}

const NO_BARS: QcBars = { left: 0, right: 0, top: 0, bottom: 0 };

function filmOf(r: Random): Film {
  const fields = r.pick(FIELDS);
  const [across, down] = [4 * r.between(2, 15), 4 * r.between(2, 15)];
  return {
    seconds: r.between(5, 9),
    fields,
    declared: r.chance(0.5) ? fields : r.pick(FIELDS),
    bars: r.pick([
      NO_BARS,
      NO_BARS,
      { ...NO_BARS, top: down, bottom: down },
      { ...NO_BARS, left: across, right: across },
      { left: across, right: across, top: down, bottom: down },
      { ...NO_BARS, top: down },
    ]),
    sound: r.pick(['two', 'two', 'mono', 'opposite']),
    offset: r.pick([0, 0, 0.01, 0.05, -0.1]),
    starts: r.pick([0, 0, 0.25, 0.6, 1.2]),
    ends: r.pick([0, 0, 0.9, 2]),
  };
}

const [WIDTH, HEIGHT] = [320, 240];
const PAN = { two: 'c1=c1', mono: 'c1=c0', opposite: 'c1=-1*c0' };

function make(film: Film, file: string, options: string): void {
  const { left, right, top, bottom } = film.bars;
  const inner = `${WIDTH - left - right}x${HEIGHT - top - bottom}`;
  const woven = { progressive: ['framestep=2'], 'top first': ['tinterlace=4'], 'bottom first': ['tinterlace=5'] };
  const pictures = [
    'scroll=h=0.01',
    'format=yuv420p',
    ...woven[film.fields],
    `pad=${WIDTH}:${HEIGHT}:${left}:${top}`,
    `setfield=${SET[film.declared]}`,
  ];
  const sound = [
    'amerge=2',
    `pan=stereo|c0=c0|${PAN[film.sound]}`,
    `dcshift=${film.offset}`,
    `atrim=0:${film.seconds - film.starts - film.ends}`,
    `asetpts=PTS+${film.starts}/TB`,
  ];
  const graph = `[0]${pictures.join(',')}[v];[1][2]${sound.join(',')}[a]`;
  const noise = (seed: number) => ['-f', 'lavfi', '-i', `anoisesrc=a=0.1:c=pink:r=48000:seed=${seed}`];
  const inputs = ['-v', 'error', '-y', '-f', 'lavfi', '-i', `testsrc2=s=${inner}:r=50`, ...noise(1), ...noise(2)];
  const outputs = ['-map', '[v]', '-map', '[a]', '-t', String(film.seconds), ...options.split(' '), file];
  execFileSync('ffmpeg', [...inputs, '-filter_complex', graph, ...outputs], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** As reported by `tracks`. */
const [STARTS_S, ENDS_S] = [0.1, 0.5];
/** A mean of samples below this is none. */
const OFFSET = 0.005;

const BARS = ['left', 'right', 'top', 'bottom'] as const;

const SCORES = {
  'field order': new Score(),
  'field order that is wrong': new Score(),
  'bars (pixels)': new Score(),
  'one sound in two channels': new Score(),
  'opposite channels (s)': new Score(),
  'DC offset (of full scale)': new Score(),
  'a track that begins late (s)': new Score(),
  'a track that ends early (s)': new Score(),
  'a file that is cut': new Score(),
};

function score(film: Film, { video, audio, tracks }: QcReport): void {
  const [{ scan, bars }, { phase, dc_offset: offset, decoded }] = [video[0]!, audio[0]!];
  if (scan.declared !== null && scan.declared !== film.declared) throw new Error(`declared as ${scan.declared}`);
  SCORES['field order'].property(scan.looks === film.fields, scan.looks !== null);
  if (scan.looks === null) SCORES['field order'].put += 1;
  if (scan.declared !== null) SCORES['field order that is wrong'].property(film.fields !== film.declared, scan.differs);
  for (const side of BARS) {
    const [put, told] = [film.bars[side], bars?.[side] ?? 0];
    SCORES['bars (pixels)'].property(put > 0, told > 0, Math.abs(told - put));
  }
  SCORES['one sound in two channels'].property(film.sound === 'mono', phase!.mono);
  const opposite = phase!.out_of_phase.list;
  const long = opposite.reduce((sum, { from, to }) => sum + to - from, 0);
  SCORES['opposite channels (s)'].property(film.sound === 'opposite', opposite.length > 0, Math.abs(long - decoded!));
  const off = Math.abs(offset ?? 0);
  SCORES['DC offset (of full scale)'].property(film.offset !== 0, off > OFFSET, Math.abs(off - Math.abs(film.offset)));
  const [starts, ends] = [tracks!.starts, tracks!.ends!];
  const late = SCORES['a track that begins late (s)'];
  late.property(film.starts > STARTS_S, starts.differs, Math.abs(starts.apart - film.starts));
  const early = SCORES['a track that ends early (s)'];
  early.property(film.ends > ENDS_S, ends.differs, Math.abs(ends.apart - film.ends));
}

/** A file that ends in its middle: the checks end there, and the duration or the reading says so. */
async function scoreCut(program: readonly string[], file: string, whole: QcReport): Promise<void> {
  const isTold = (report: QcReport | null): boolean =>
    !report ||
    report.cut !== undefined ||
    [...report.video, ...report.audio].some(({ duration_differs: differs }) => differs) ||
    report.tracks?.ends?.differs === true;
  SCORES['a file that is cut'].property(false, whole.cut !== undefined);
  truncateSync(file, Math.floor(statSync(file).size * 0.6));
  SCORES['a file that is cut'].property(true, isTold(await checked(program, file)));
}

export async function properties(program: readonly string[], folder: string, count: number): Promise<string[][]> {
  for (let seed = 1; seed <= count; seed += 1) {
    const film = filmOf(random(seed));
    const [kind, options] = KINDS[seed % KINDS.length]!;
    const file = join(folder, `film.${kind}`);
    make(film, file, options(film.declared));
    const report = (await checked(program, file))!;
    try {
      score(film, report);
    } catch (err) {
      throw new Error(`film ${seed}: ${JSON.stringify(film)}`, { cause: err });
    }
    await scoreCut(program, file, report);
  }
  return Object.entries(SCORES).map(([check, one]) => one.row(check));
}
