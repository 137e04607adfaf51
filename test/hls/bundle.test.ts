/** The validator in one file, as the image has it, answers what its modules answer. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { PROGRAMS } from '../../src/base/program_file.ts';
import { PROBE_OPTION } from '../../src/media/hls/built_in.ts';
import { CHAPTERS } from '../../src/media/hls/rules/catalog.ts';
import type { Rule } from '../../src/media/hls/rule.ts';
import { examplesOf, type Example } from './examples/index.ts';
import { aMain, aVariant, vod } from './examples/playlists.ts';
import { makeTurns } from '../../src/base/turns.ts';
import { buildAgent } from '../runner/built_agent.ts';
import { Host } from './serve.ts';

const MODULES = join(import.meta.dirname, '../../src', PROGRAMS.hls);
const NAME = 'hls.cjs';

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** With the environment of a tool. */
const run = (args: readonly string[]): Promise<Ran> =>
  new Promise((resolve) => {
    const env = { HOME: '/tmp', LC_ALL: 'C.UTF-8' };
    execFile(process.execPath, args, { env, timeout: 60_000, maxBuffer: 8 << 20 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr }),
    );
  });

describe('HLS validator: in one file', function () {
  this.timeout(120_000);
  let host: Host;
  let file: string;
  let inputs: readonly string[];
  before(async () => {
    const built = await buildAgent();
    file = join(dirname(built.program), NAME);
    inputs = built.inputs.get(NAME) ?? [];
    host = await new Host().start();
  });
  after(() => host?.stop());

  /** It may read its own folder, and nothing of the checkout. */
  const runFile = (...args: string[]) => run(['--permission', `--allow-fs-read=${dirname(file)}`, file, ...args]);
  /** Each run has a folder of its own. */
  const withoutFolder = (text: string): string => text.replaceAll(/(127\.0\.0\.1:\d+)\/\d+\//g, '$1/n/');
  const turns = makeTurns(2);

  for (const [chapter, rules] of Object.entries(CHAPTERS) as [string, Record<string, Rule>][]) {
    const examples = Object.keys(rules).flatMap((id) => {
      const { bad } = examplesOf(id);
      return bad === undefined ? [] : [[id, bad] as const];
    });
    if (examples.length === 0) continue;
    it(`reports what the modules report: ${chapter}`, async () => {
      const compare = async (id: string, example: Example) => {
        const expected = JSON.stringify(await host.report(host.example(example)));
        const { code, stdout, stderr } = await runFile(host.example(example));
        assert.deepEqual([code, stderr], [0, ''], id);
        assert.deepEqual(JSON.parse(withoutFolder(stdout)), JSON.parse(withoutFolder(expected)), id);
      };
      await Promise.all(examples.map(([id, example]) => turns.run(() => compare(id, example))));
    });
  }

  const cases: [string, () => string[], number][] = [
    ['its usage', () => [], 1],
    ['a source that is not found', () => [`${host.url}/404`], 1],
    ['a report with all that can be asked for', () => ['--text', '--playlist-text', '--beside', given()], 0],
    [
      'segments that nothing can measure',
      () => ['--measure', `${PROBE_OPTION}=["/nowhere/ffprobe"]`, given('#EXT-X-KEY:METHOD=AES-128,URI="key.bin"')],
      0,
    ],
  ];
  const given = (...key: string[]): string => {
    host.put('/given/key.bin', { body: Buffer.alloc(16, 7) });
    host.put('/given/a.ts', { body: Buffer.alloc(1_024, 0x47), type: 'video/mp2t' });
    host.put('/given/video.m3u8', { body: vod(...key, '#EXTINF:6,', 'a.ts') });
    return host.put('/given/main.m3u8', { body: aMain(aVariant({})) });
  };
  for (const [what, args, code] of cases)
    it(`prints what the modules print: ${what}`, async () => {
      const ran = await run([file, ...args()]);
      assert.deepEqual(ran, await run([MODULES, ...args()]));
      assert.equal(ran.code, code);
      assert.notEqual(ran.stdout + ran.stderr, '');
    });

  it('has its own modules and no package', () => {
    assert.ok(inputs.includes(`src/${PROGRAMS.hls}`));
    const own = /^src\/(?:media\/hls|source\/(?:address|playlist))\//;
    const base = /^src\/base\/(?:get_or_make|hide_query|nearest|printable|retry|turns|version_order)\.ts$/;
    assert.deepEqual(
      inputs.filter((path) => !own.test(path) && !base.test(path)),
      [],
    );
  });
});
