/**
 * The C driver of MediaInfo's WebAssembly versions against what the JavaScript one printed, which ran the same modules
 * in Node. It was recorded before that one was removed.
 */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withScratch } from '../../images/cache.ts';
import { startOrigin } from '../node/origin.ts';
import { CASES, SOURCES } from './wasm_cases.ts';
import { forEachWasmTool, type Run } from './wasm_tools.ts';

interface Recorded {
  source: string;
  options: string[];
  code: number;
  lines: string[];
}

/** In a folder with the sources, so that their addresses are their names. */
const withSources = (work: (folder: string) => Promise<void>): Promise<void> =>
  withScratch(async (scratch) => {
    const folder = join(scratch, 'media');
    await mkdir(folder);
    for (const [name, bytes] of Object.entries(SOURCES)) await writeFile(join(folder, name), bytes);
    await work(folder);
  });

const recordedOf = async (version: string): Promise<Recorded[]> =>
  JSON.parse(
    await readFile(join(import.meta.dirname, '..', 'fixtures', 'mediainfo-wasm', `${version}.json`), 'utf8'),
  ) as Recorded[];

async function compare(recorded: readonly Recorded[], run: Run, folder: string, base: string): Promise<void> {
  for (const { source, options, code, lines } of recorded) {
    const address = `${base}${source}`;
    const printed = await run([...options, address], { cwd: folder });
    assert.deepEqual(
      { code: printed.code, lines: printed.stdout.replaceAll(address, source).split('\n') },
      { code, lines },
      `${source} ${options.join(' ')}: ${printed.stderr}`,
    );
  }
}

const PLACES = 20;
const HOLE = 512;

function* brokenClips(): Generator<[name: string, bytes: Buffer]> {
  const clip = SOURCES['tiny.mp4']!;
  for (let place = 0; place < PLACES; place++) {
    const at = Math.floor(((place + 0.5) * clip.length) / PLACES);
    yield [`cut at ${at}`, clip.subarray(0, at)];
    yield [`a hole at ${at}`, Buffer.from(clip).fill(0, at, at + HOLE)];
  }
}

describe('MediaInfo as WebAssembly', function () {
  this.timeout(120_000);

  forEachWasmTool(({ version }, run) => {
    it('prints of a file what it printed in Node', () =>
      withSources(async (folder) => {
        const recorded = await recordedOf(version);
        assert.equal(recorded.length, CASES.length);
        await compare(recorded, run, folder, '');
      }));

    it('prints of an http address what it printed in Node', () =>
      withSources(async (folder) => {
        const { url, close } = await startOrigin('127.0.0.1', folder);
        try {
          // Of an origin an empty file is an error.
          const recorded = (await recordedOf(version)).filter(({ source }) => source !== 'empty.mp4');
          await compare(recorded, run, folder, `${url}/`);
        } finally {
          await close();
        }
      }));

    it('ends with an answer for media that is cut, or has a hole, anywhere', () =>
      withSources(async (folder) => {
        for (const [name, broken] of brokenClips()) {
          await writeFile(join(folder, 'broken.mp4'), broken);
          const { code, stdout, stderr } = await run(['--Output=JSON', 'broken.mp4'], { cwd: folder });
          assert.ok(code === 0 || (code === 1 && stderr.startsWith('E: ')), `${name}: ${code} ${stderr}`);
          assert.doesNotThrow(() => JSON.parse(stdout), name);
        }
      }));
  });
});
