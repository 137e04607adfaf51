/** Levels beside those of two other meters, on sounds that are made from a seed. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { floatWav } from '../../test/qc/signals.ts';
import { random, type Random } from '../report/random.ts';
import { summary } from '../statistics.ts';
import { checked } from './program.ts';

const METERS = { pyloudnorm: '0.2.0', pyebur128: '0.1.1' };

/** Each of a few seconds: a tone, noise, noise that comes and goes as speech does, or nothing. */
function fill(samples: Float32Array, { channels, rate }: { channels: number; rate: number }, r: Random): void {
  const frames = samples.length / channels;
  for (let at = 0; at < frames;) {
    const end = Math.min(frames, at + r.between(rate, 6 * rate));
    const kind = r.pick(['tone', 'noise', 'speech', 'speech', 'nothing']);
    const level = 10 ** (r.between(-50, -3) / 20);
    const hz = r.pick([60, 200, 440, 1_000, 2_500, 6_000, 11_000]);
    const soft = r.next() * 0.95;
    const held = new Float64Array(channels);
    for (; at < end; at += 1)
      for (let channel = 0; channel < channels; channel += 1) {
        const noise = (held[channel] = soft * held[channel]! + (1 - soft) * (2 * r.next() - 1));
        const envelope = kind === 'speech' ? Math.max(0, Math.sin((2 * Math.PI * 3 * at) / rate)) : 1;
        const tone = Math.sin((2 * Math.PI * hz * at) / rate + channel);
        samples[at * channels + channel] = kind === 'nothing' ? 0 : level * (kind === 'tone' ? tone : noise * envelope);
      }
  }
}

function sound(seed: number): Buffer {
  const r = random(seed);
  const [rate, channels] = [r.pick([44_100, 48_000]), r.pick([1, 2, 2, 2, 5])];
  const samples = new Float32Array(r.between(8, 30) * rate * channels);
  fill(samples, { channels, rate }, r);
  return floatWav(samples, channels, rate);
}

/** The meters in an environment of their own. */
function metersIn(folder: string): string {
  const python = join(folder, 'bin', 'python');
  execFileSync('python3', ['-m', 'venv', folder]);
  const packages = Object.entries(METERS).map(([name, version]) => `${name}==${version}`);
  execFileSync(python, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...packages]);
  return python;
}

const FACTS = ['integrated', 'short_term_max', 'range', 'true_peak'] as const;
type Fact = (typeof FACTS)[number];
type Told = Record<'pyloudnorm' | 'libebur128', Partial<Record<Fact, number>>>;

/** How far ours is from each of theirs: rows of a table. */
export async function levels(program: readonly string[], folder: string, count: number): Promise<string[][]> {
  const python = metersIn(join(folder, 'meters'));
  const apart = new Map<string, number[]>();
  for (let seed = 1; seed <= count; seed += 1) {
    const file = join(folder, 'sound.wav');
    writeFileSync(file, sound(seed));
    const ours = (await checked(program, file))!.audio[0]!.loudness;
    const said = execFileSync(python, [join(import.meta.dirname, 'meters.py'), file], { encoding: 'utf8' });
    for (const [meter, facts] of Object.entries(JSON.parse(said) as Told))
      for (const fact of FACTS) {
        const [own, theirs] = [ours[fact], facts[fact]];
        if (own === null || theirs === undefined) continue;
        const key = `${fact}, ${meter}`;
        apart.set(key, [...(apart.get(key) ?? []), Math.abs(own - theirs)]);
      }
  }
  return [...apart].map(([key, values]) => {
    const { count: files, p50, p99, most } = summary(values);
    return [key, String(files), ...[p50, p99, most].map((value) => value.toFixed(2))];
  });
}
