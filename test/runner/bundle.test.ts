/** The agent in one file does what its modules do where they find one another by their places. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_FILE, bundleAgent } from '../../images/agent_bundle.ts';
import { withScratch } from '../../images/cache.ts';
import { AGENT_PROGRAM } from '../../src/controller/pools/pod.ts';
import type { Rule } from '../../src/policy/types.ts';
import { outputsOf } from '../report/sample.ts';
import { until } from '../until.ts';
import { Rig } from './agent_rig.ts';
import { buildAgent } from './built_agent.ts';

const IMAGE = join(import.meta.dirname, '../../images/probeyard');
const SEGMENTS = 5_000;

describe('agent: in one file', function () {
  this.timeout(120_000);
  const rig = new Rig();
  let child: ChildProcess;
  let exited: Promise<unknown[]>;
  before(async () => {
    const { program } = await buildAgent();
    rig.serve = (_request, response) => {
      response.setHeader('content-type', 'application/vnd.apple.mpegurl');
      const segments = Array.from(
        { length: SEGMENTS },
        (_, index) => `#EXTINF:4,\nhttp://elsewhere.example/${index}.ts\n`,
      ).join('');
      response.end(`#EXTM3U\n#EXT-X-TARGETDURATION:4\n${segments}#EXT-X-ENDLIST\n`);
    };
    await rig.start();
    rig.launcher.close(); // the process connects in its place
    writeFileSync(join(rig.directory, 'token'), 'any');
    child = spawn(process.execPath, [program], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { PATH: '/usr/bin:/bin', ...rig.environment() },
    });
    exited = once(child, 'exit');
    await idle();
  });
  after(async () => {
    child?.kill('SIGTERM');
    const ended = await exited;
    await rig.stop();
    assert.deepEqual(ended, [0, null]);
  });
  const idle = () => until('an idle runner', () => rig.beats.at(-1)?.phase === 'idle', 20_000);

  it('rewrites a long playlist in the thread of the sources', async () => {
    const count = `curl -sf "$address" | grep -c '^x/http/elsewhere.example/'`;
    const { body } = await rig.run(
      rig.go([rig.script(`echo "{\\"rewritten\\":$(${count})}"`)], { source: `${rig.originUrl}/a.m3u8` }),
    );
    assert.deepEqual([body.tools[0]?.error, body.tools[0]?.output], [undefined, `{"rewritten":${SEGMENTS}}\n`]);
  });

  it('compares the tools with what was learned, and judges by a policy', async () => {
    await idle();
    const outputs = outputsOf('picture_and_sound.mkv');
    const printing = (name: 'ffprobe' | 'mediainfo', version: string) => {
      const file = join(rig.directory, name);
      writeFileSync(file, JSON.stringify(outputs[`${name} ${version}`]));
      return rig.script(`cat ${file}`, { name, version });
    };
    const rule: Rule = { name: 'wrapper', field: 'container.format', is: 'matroska' };
    const { body } = await rig.run(
      rig.go([printing('ffprobe', '9.0'), printing('mediainfo', '26.10')], {
        assignment: {
          report: { enabled: true, diff: true, prefer: null },
          policy: { name: 'house', revision: 1, document: { rules: [rule] } },
        },
      }),
    );
    assert.deepEqual([body.policy?.outcome, body.report === undefined], ['pass', false]);
  });

  it('is what runner pods start, and what is compiled when the image is built', () => {
    assert.equal(AGENT_PROGRAM, `/app/agent/${AGENT_FILE}`);
    assert.match(readFileSync(join(IMAGE, 'Dockerfile'), 'utf8'), /^COPY --from=agent \/agent\/ \/app\/agent\/$/m);
    assert.ok(readFileSync(join(IMAGE, 'warm.mjs'), 'utf8').includes(`'${AGENT_PROGRAM}'`));
  });

  it('is the same file from the same sources', () =>
    withScratch(async (folder) => {
      const bundled = async (name: string) => {
        await bundleAgent(join(folder, name));
        return readFileSync(join(folder, name, AGENT_FILE), 'utf8');
      };
      const [one, two] = [await bundled('one'), await bundled('two')];
      assert.ok(one === two);
      assert.ok(!one.includes(join(import.meta.dirname, '../..')), 'it names the checkout');
    }));
});
