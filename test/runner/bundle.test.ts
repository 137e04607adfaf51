/** The agent in one file does what its modules do where they find one another, or a program, by their places. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AGENT_FILE, bundleAgent } from '../../images/agent_bundle.ts';
import { withScratch } from '../../images/cache.ts';
import type { AssignedTool } from '../../src/platform/bus/messages.ts';
import { AGENT_PROGRAM } from '../../src/service/controller/pools/pod.ts';
import { builtInMsv } from '../../src/media/hls/built_in.ts';
import { aMain, aVariant, vod } from '../hls/examples/playlists.ts';
import type { HlsReport } from '../../src/media/hls/schema.ts';
import type { Rule } from '../../src/media/policy/schema.ts';
import { PROGRAMS } from '../../src/base/program_file.ts';
import { outputsOf } from '../report/sample.ts';
import { until } from '../until.ts';
import { Rig } from './agent_rig.ts';
import { buildAgent } from './built_agent.ts';

const IMAGE = join(import.meta.dirname, '../../images/probeyard');
const SEGMENTS = 5_000;

/** Whether a process has it as an argument. */
const isRunning = (file: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(file);
    } catch {
      return false; // it has ended, or is none
    }
  });

describe('agent: in one file', function () {
  this.timeout(120_000);
  const rig = new Rig();
  let folder: string;
  let child: ChildProcess;
  let exited: Promise<unknown[]>;
  before(async () => {
    const { program } = await buildAgent();
    folder = dirname(program);
    rig.serve = async (request, response) => {
      response.setHeader('content-type', 'application/vnd.apple.mpegurl');
      if (request.url === '/main.m3u8') return void response.end(aMain(aVariant({})));
      if (request.url === '/video.m3u8') {
        // The validator waits for it. Where it is not seen, the answer has another report.
        await until('the validator', () => isRunning(join(folder, 'hls.cjs'))).catch(() => response.writeHead(500));
        return void response.end(vod());
      }
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
      env: { PATH: '/usr/bin:/bin', ...rig.environment({ toolMemoryBytes: 1 << 30 }) },
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

  it('starts the HLS validator from the file beside its own', async () => {
    await idle();
    const { version, command, uses } = builtInMsv([]);
    const tool: AssignedTool = { name: 'msv', version, timeoutMs: 60_000, options: {}, command, uses };
    const { body } = await rig.run(rig.go([tool], { source: `${rig.originUrl}/main.m3u8` }));
    assert.deepEqual([body.tools[0]?.error, body.tools[0]?.success], [undefined, true]);
    assert.equal((JSON.parse(body.tools[0]?.output ?? 'null') as HlsReport).summary.playlists, 2);
  });

  it('rewrites a long playlist in a thread, from the file beside its own', async () => {
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
    assert.match(readFileSync(join(IMAGE, 'Dockerfile'), 'utf8'), /^COPY --from=bundles \/agent\/ \/app\/agent\/$/m);
    assert.ok(readFileSync(join(IMAGE, 'warm.mjs'), 'utf8').includes(`'${AGENT_PROGRAM}'`));
  });

  it('is the same files from the same sources', () =>
    withScratch(async (scratch) => {
      const bundled = async (name: string) => {
        await bundleAgent(join(scratch, name));
        const files = readdirSync(join(scratch, name)).sort();
        return files.map((file) => [file, readFileSync(join(scratch, name, file), 'utf8')] as const);
      };
      const [one, two] = [await bundled('one'), await bundled('two')];
      assert.deepEqual(
        one.map(([file]) => file),
        [AGENT_FILE, ...Object.keys(PROGRAMS).map((name) => `${name}.cjs`)].sort(),
      );
      for (const [index, [file, text]] of one.entries()) {
        assert.ok(text === two[index]?.[1], file);
        assert.ok(!text.includes(join(import.meta.dirname, '../..')), `${file} names the checkout`);
      }
    }));
});
