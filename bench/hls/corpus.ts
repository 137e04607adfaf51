/** Playlists for comparing validators, from the examples of our rules and from public packages. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { RULES } from '../../src/media/hls/rules/catalog.ts';
import { examplesOf } from '../../test/hls/examples/index.ts';

export interface Sample {
  name: string;
  bytes: Buffer;
  /** Rules that it is known to break. Without any, it is valid. */ faults: string[];
}

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard', 'bench-hls');

/** Exact versions, because the known faults were found in these. */
const NPM = [
  'm3u8-parser@7.2.0',
  '@eyevinn/hls-vodtolive@4.1.10',
  '@eyevinn/hls-splice@0.4.11',
  '@eyevinn/hls-repeat@0.3.0',
  '@eyevinn/m3u8@0.5.9',
];
const GO = ['github.com/grafov/m3u8@v0.12.1', 'github.com/mogiioin/hls-m3u8@v0.6.1'];
const RIVALS = ['hls-parser@0.16.1', 'm3u8-parser@7.2.0', 'm3u8parse@5.0.2'];

const run = (program: string, args: string[], cwd: string): string =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

function once(name: string, make: (folder: string) => void): string {
  const folder = join(cache, name.replaceAll(/[^\w.@-]/g, '_'));
  if (existsSync(folder)) return folder;
  const half = `${folder}.${process.pid}`;
  mkdirSync(half, { recursive: true });
  make(half);
  renameSync(half, folder);
  return folder;
}

export const rivals = (): string =>
  once(`rivals-${createHash('sha256').update(RIVALS.join()).digest('hex').slice(0, 8)}`, (folder) => {
    run('npm', ['install', '--no-save', '--ignore-scripts', '--prefix', '.', ...RIVALS], folder);
  });

function folders(): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of NPM) {
    found.set(
      name,
      once(name, (folder) => {
        const archive = run('npm', ['pack', '--silent', name], folder).trim().split('\n').at(-1) ?? '';
        run('tar', ['xzf', archive], folder);
      }),
    );
  }
  for (const name of GO) {
    const { Dir } = JSON.parse(run('go', ['mod', 'download', '-json', name], cache)) as { Dir: string };
    found.set(name, Dir);
  }
  return found;
}

function* playlistsIn(folder: string): Generator<string> {
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* playlistsIn(path);
    else if (name.endsWith('.m3u8')) yield path;
  }
}

/** The known faults were judged by reading each file. A file that is not listed is considered valid. */
const KNOWN = join(import.meta.dirname, 'known_faults.json');

export function foreignSamples(known = JSON.parse(readFileSync(KNOWN, 'utf8')) as Record<string, string[]>): Sample[] {
  const seen = new Set<string>();
  const samples: Sample[] = [];
  for (const [source, folder] of folders()) {
    for (const path of playlistsIn(folder)) {
      const bytes = readFileSync(path);
      const hash = createHash('sha256').update(bytes).digest('hex');
      if (seen.has(hash)) continue;
      seen.add(hash);
      const name = `${source}: ${path.slice(folder.length + 1).replace(/^package\//, '')}`;
      samples.push({ name, bytes, faults: known[name] ?? [] });
    }
  }
  return samples;
}

/** Examples that are single playlists, for rules that must be kept. */
export function ownSamples(): Sample[] {
  const samples: Sample[] = [];
  for (const [id, { level }] of Object.entries(RULES)) {
    if (level !== 'must-fix') continue;
    for (const [kind, example] of Object.entries(examplesOf(id))) {
      const texts = Object.entries(example ?? {});
      const [name, text] = texts[0] ?? ['', []];
      if (
        texts.length === 1 &&
        typeof text === 'string' &&
        !name.includes('?') &&
        !id.startsWith('playlist-') &&
        id !== 'define-parameter'
      )
        samples.push({ name: `${id}, ${kind}`, bytes: Buffer.from(text), faults: kind === 'bad' ? [id] : [] });
    }
  }
  return samples;
}
