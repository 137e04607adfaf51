/** The memory of the agent in the largest comparison that it accepts: eight outputs, each as large as is compared. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { comparisonOf } from '../../src/service/result/answer.ts';
import { until } from '../until.ts';
import { Rig } from './agent_rig.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
/** Of the agent's container in charts/probeyard/values.yaml. */
const LIMIT_MB = 640;
/** The controller's setting, and the share of the container's memory that V8 takes for its heap. */
const FLAGS = `--max-semi-space-size=1 --max-old-space-size=${LIMIT_MB / 2}`;
const MB = 1024 * 1024;
const OUTPUT_BYTES = 16 * MB;

/** Up to the size that is compared. Each version has another value in one item of a thousand. */
function outputOf(
  [open, close]: readonly [string, string],
  item: (index: number, of: number) => string,
  version: number,
) {
  const items: string[] = [];
  let length = open.length + close.length;
  for (let index = 0; length < OUTPUT_BYTES - 500; index++) {
    items.push(item(index, index % 1000 === 0 ? version : 0));
    length += items[index]!.length + 1;
  }
  return open + items.join() + close;
}
const PACKETS = ['{"packets":[', ']}'] as const;
const EXTRA = ['{"media":{"track":[{"@type":"General","extra":{', '}}]}}'] as const;
const MEMBERS = ['codec_type', 'stream_index', 'pts', 'pts_time', 'dts', 'dts_time', 'duration', 'size', 'pos'];

type Make = (version: number) => string;
const OUTPUTS: readonly [what: string, ffprobe: Make, mediainfo: Make, compared: boolean][] = [
  [
    'packets as ffprobe prints them',
    (version) =>
      outputOf(
        PACKETS,
        (index, of) => `{${MEMBERS.map((name, at) => `\n            "${name}": "${index * 512 + at + of}"`).join()}\n}`,
        version,
      ),
    (version) => outputOf(EXTRA, (index, of) => `\n"Item_${index}":"${index + of} kb/s"`, version),
    true,
  ],
  [
    'members as short as a file can make them',
    (version) => outputOf(PACKETS, (_, of) => `{"a":${of},"b":0}`, version),
    (version) => outputOf(EXTRA, (index, of) => `"${index.toString(36)}":"${of}"`, version),
    false,
  ],
];

describe('memory of the agent in a comparison', function () {
  this.timeout(300_000);
  const rig = new Rig();
  let child: ChildProcess;
  before(async () => {
    await rig.start();
    // The agent's process connects in its place.
    rig.launcher.close();
    rig.uid = 'uid-compare-memory';
    writeFileSync(join(rig.directory, 'token'), 'any');
  });
  after(async () => {
    child?.kill('SIGKILL');
    await rig.stop();
  });

  for (const [what, ffprobe, mediainfo, compared] of OUTPUTS)
    it(`stays below the limit of its container with eight outputs of ${OUTPUT_BYTES / MB} MB: ${what}`, async () => {
      rig.beats = [];
      child = spawn(process.execPath, [MAIN, 'agent'], {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { PATH: '/usr/bin:/bin', NODE_OPTIONS: FLAGS, ...rig.environment({ logLevel: 'warn' }) },
      });
      await until('the first heartbeat', () => rig.beats.length > 0, 60_000);
      const runs = ([ffprobe, mediainfo] as const).flatMap((make, at) =>
        [1, 2, 3, 4].map((version) => {
          const file = join(rig.directory, `output-${at}-${version}.json`);
          writeFileSync(file, make(version));
          return rig.script(`cat ${file}`, { name: at === 0 ? 'ffprobe' : 'mediainfo', version: String(version) });
        }),
      );
      const order = rig.go(runs, { remainingMs: 120_000, assignment: { kind: 'compare', timeoutMs: 120_000 } });
      assert.deepEqual(await rig.say(SUBJECT.go, order), { ok: true });
      const { body } = await rig.taken(order.job, 200_000);
      assert.deepEqual(
        body.tools.map(({ success, error }) => [success, error]),
        runs.map(() => [true, undefined]),
      );
      const { summary } = comparisonOf(body);
      assert.equal(summary.fields > 0, compared, JSON.stringify(summary));
      const peakMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;
      console.log(`      peak ${peakMb.toFixed(0)} MB of ${LIMIT_MB}`);
      assert.ok(peakMb < LIMIT_MB, `peak ${peakMb.toFixed(0)} MB`);
      child.kill('SIGTERM');
      await once(child, 'exit');
    });
});
