/** What is found of colour bars, line-up tones and letterboxes that come and go, in films with known times. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { random, type Random } from '../report/random.ts';
import { CODECS, during, FPS, Score, type Passage } from './findings.ts';
import { checked } from './program.ts';

const SIZE = [320, 180] as const;
const BARS = ['smptebars', 'smptehdbars', 'pal75bars', 'pal100bars'] as const;
/** What colour bars and tones might be mistaken for. */
const LIKE_BARS = ['rgbtestsrc', 'yuvtestsrc', 'testsrc', 'colorspectrum'] as const;
const CHORD = 'aevalsrc=0.1*sin(2*PI*440*t)+0.1*sin(2*PI*554*t)+0.1*sin(2*PI*659*t):s=48000';
const SQUARE = 'aevalsrc=0.1*sgn(sin(2*PI*440*t)):s=48000';
const LIKE_TONES = [CHORD, SQUARE] as const;

interface Film {
  seconds: number;
  /** What is shown and heard between, if anything. */
  picture?: { source: string; isBars: boolean; at: Passage };
  sound?: { source: string; hz?: number; at: Passage };
  letterbox?: { box: string; at: Passage };
}

function passage(r: Random, from: number, to: number): Passage {
  const long = r.pick([1.2, 2.4, 3, 5]);
  const begins = from + 0.6 + r.next() * (to - from - long - 1.2);
  return { from: Math.round(begins * FPS) / FPS, to: Math.round((begins + long) * FPS) / FPS };
}

function filmOf(r: Random): Film {
  const seconds = r.between(16, 20);
  const [hz, high, wide] = [r.pick([400, 1000, 1000, 3150]), 2 * r.between(8, 16), 2 * r.between(10, 30)];
  const isBars = r.chance(0.6);
  const isTone = r.chance(0.6);
  const tone = `sine=frequency=${hz}:r=48000,volume=${r.between(-20, 0)}dB`;
  const across = `drawbox=0:0:iw:${high}:black:fill,drawbox=0:ih-${high}:iw:${high}:black:fill`;
  const upright = `drawbox=0:0:${wide}:ih:black:fill,drawbox=iw-${wide}:0:${wide}:ih:black:fill`;
  return {
    seconds,
    ...(r.chance(0.8)
      ? { picture: { source: r.pick(isBars ? BARS : LIKE_BARS), isBars, at: passage(r, 0, seconds / 2) } }
      : {}),
    ...(r.chance(0.8)
      ? {
          sound: {
            ...(isTone ? { source: tone, hz } : { source: r.pick(LIKE_TONES) }),
            at: passage(r, 0, seconds / 2),
          },
        }
      : {}),
    ...(r.chance(0.6)
      ? { letterbox: { box: r.chance(0.6) ? across : upright, at: passage(r, seconds / 2, seconds) } }
      : {}),
  };
}

function make({ seconds, picture, sound, letterbox }: Film, file: string, options: string, source: string): void {
  const boxes = letterbox?.box.split(',').map((box) => `${box}:enable='${during(letterbox.at)}'`) ?? [];
  const shown = picture ? `overlay=enable='${during(picture.at)}'` : "overlay=enable='0'";
  const heard = sound ? during(sound.at) : '0';
  const graph = [
    `[0]${['format=yuv420p', ...boxes].join(',')}[film];[1]format=yuv420p[other];[film][other]${shown}[v]`,
    `[2]asetnsamples=480,volume=volume=0:enable='${heard}':eval=frame[noise]`,
    `[3]asetnsamples=480,volume=volume=0:enable='not(${heard})':eval=frame[tone];[noise][tone]amix=normalize=0[a]`,
  ].join(';');
  const size = SIZE.join('x');
  const inputs = [
    `${source}=s=${size}:r=${FPS}`,
    `${picture?.source ?? 'testsrc2'}=s=${size}:r=${FPS}`,
    'anoisesrc=a=0.1:c=pink:r=48000',
    sound?.source ?? 'sine=r=48000',
  ].flatMap((input) => ['-f', 'lavfi', '-i', input]);
  const outputs = ['-map', '[v]', '-map', '[a]', '-t', String(seconds), ...options.split(' '), file];
  execFileSync('ffmpeg', ['-v', 'error', '-y', ...inputs, '-filter_complex', graph, ...outputs], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

export async function interludes(program: readonly string[], folder: string, count: number): Promise<string[][]> {
  const scores = { bars: new Score(), tones: new Score(), letterbox: new Score(), hz: new Score() };
  for (let seed = 1; seed <= count; seed += 1) {
    const r = random(seed);
    const film = filmOf(r);
    const [kind, options] = CODECS[seed % CODECS.length]!;
    const file = join(folder, `film.${kind}`);
    make(film, file, options, r.pick(['testsrc2', 'mandelbrot']));
    const { video, audio } = (await checked(program, file))!;
    const { picture, sound, letterbox } = film;
    const tones = audio[0]!.test_tones.list;
    scores.bars.take(picture?.isBars ? [picture.at] : [], video[0]!.test_bars.list);
    scores.tones.take(sound?.hz ? [sound.at] : [], tones);
    scores.letterbox.take(letterbox ? [letterbox.at] : [], video[0]!.letterbox?.list ?? []);
    if (sound?.hz && tones[0]) scores.hz.property(true, true, Math.abs(tones[0].frequency - sound.hz));
  }
  return [
    scores.bars.row('colour bars (s)'),
    scores.tones.row('line-up tone (s)'),
    scores.hz.row('its frequency (Hz)'),
    scores.letterbox.row('letterbox that comes and goes (s)'),
  ];
}
