/** Every way in which a source fails, through the runner: each real tool reports the same cause. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtC2pa } from '../../images/cargo_build.ts';
import { cacheDir } from '../../images/cache.ts';
import { assemble } from '../../src/service/result/answer.ts';
import { builtInMsv } from '../../src/media/hls/built_in.ts';
import type { AssignedTool } from '../../src/platform/bus/messages.ts';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { PATIENCE } from '../patience.ts';
import {
  ALL_TOOLS,
  FAILING,
  FAILING_PAGE,
  failingProxy,
  failingTable,
  type ReadingTool,
} from '../source/failing_sources.ts';
import { Cleanup } from '../source/origin.ts';
import { headOf } from '../result/text_body.ts';
import { Rig } from './agent_rig.ts';

const program = (name: string): string | undefined =>
  [`/usr/bin/${name}`, join(cacheDir, 'media_programs', name)].find((path) => existsSync(path));
const [ffprobe, mediainfo, c2pa] = [program('ffprobe'), program('mediainfo'), (await builtC2pa())?.c2pa];

it('causes: the docs show the table of sources that fail', () =>
  assert.ok(
    readFileSync(FAILING_PAGE, 'utf8').includes(`\n\n${failingTable()}\n\n`),
    'out of date: node test/source/failing_sources.ts',
  ));

describe('causes: what each tool reports of a source that fails', function () {
  this.timeout(120_000);
  if (ffprobe === undefined || mediainfo === undefined || c2pa === undefined) {
    it.skip('skipped: ffprobe, mediainfo and the C2PA check are not all on this machine');
    return;
  }
  const rig = new Rig();
  const cleanup = new Cleanup();
  before(async () => {
    rig.proxyOptions = await failingProxy(cleanup);
    await rig.start();
    await rig.newAgent();
  });
  after(async () => {
    await cleanup.run();
    await rig.stop();
  });

  const toolOf = (name: ReadingTool): AssignedTool => {
    if (name === 'msv') {
      const { version, command, uses } = builtInMsv([]);
      return { name, version, timeoutMs: 30_000, options: {}, command, uses };
    }
    const command = { ffprobe, mediainfo, c2pa }[name];
    return {
      name,
      version: '1',
      timeoutMs: 30_000,
      options: name === 'ffprobe' ? { tls_verify: 'true' } : {},
      command: [command],
    };
  };

  for (const [what, { source, code, error, status = 404, tools = ALL_TOOLS }] of Object.entries(FAILING))
    it(what, async () => {
      const url = await source(cleanup);
      // Beside others the validator runs only for playlists.
      for (const names of [tools.filter((name) => name !== 'msv'), tools.filter((name) => name === 'msv')]) {
        if (names.length === 0) continue;
        const asked = names.map(toolOf);
        const { body } = await rig.run(rig.go(asked, { source: url }));
        assert.deepEqual(
          body.tools.map((tool) => [tool.name, tool.success, tool.code ?? tool.failure]),
          names.map((name) => [name, false, code]),
          JSON.stringify(body.tools.map((tool) => tool.error)),
        );
        for (const tool of body.tools) assert.equal(tool.error, error, tool.name);
        // The validator is a process of Node, whose start is most of its time.
        if (code === 'closed' && names[0] !== 'msv')
          for (const { name, durationMs } of body.tools)
            assert.ok(durationMs < PATIENCE * 2_000, `${name}: ${durationMs} ms`);
        const ended = outcome(headOf(body), asked);
        assert.deepEqual([ended.status, ended.error], [status, error]);
        if (names[0] === 'msv') continue;
        const answered = { requestId: '0', queueTimeMs: 0, outputs: null, withoutOutputs: true };
        const answer = JSON.parse(assemble(headOf(body), answered).body as string) as { error: string; code: string };
        assert.deepEqual([answer.code, answer.error], [code, error]);
      }
    });
});
