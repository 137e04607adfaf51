import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SUBJECT, type AssignedTool, type Cancel } from '../../src/platform/bus/messages.ts';
import { comparisonOf } from '../../src/service/result/answer.ts';
import { runSeveral } from '../../src/service/runner/compare.ts';
import type { RawToolResult } from '../../src/service/runner/output.ts';
import { until } from '../until.ts';
import { Rig } from './agent_rig.ts';

const MB = 1024 * 1024;
const tools = (...versions: string[]): AssignedTool[] =>
  versions.map((version) => ({ name: 'ffprobe', version, timeoutMs: 1000, options: {}, command: [] }));
const printed = ({ name, version }: AssignedTool, bytes: number): RawToolResult => ({
  name,
  version,
  success: true,
  durationMs: 1,
  usageMs: 1,
  exitCode: 0,
  signal: null,
  format: 'json',
  output: Buffer.alloc(bytes),
});

describe('running several versions of a tool', () => {
  /** A run ends when the test calls `end`. `shares`: what each run may print in MB, in the order of the starts. */
  function controlled(versions: string[]) {
    const shares: number[] = [];
    const ends = new Map<string, (bytes: number) => void>();
    let most = 0;
    let running = 0;
    const all = runSeveral(tools(...versions), {
      outputBytes: 64 * MB,
      remainingMs: 1000,
      kept: 0,
      run: async (tool, { outputBytes }) => {
        shares.push(outputBytes / MB);
        running += 1;
        most = Math.max(most, running);
        const { promise, resolve } = Promise.withResolvers<number>();
        ends.set(tool.version, resolve);
        const bytes = await promise;
        running -= 1;
        if (bytes > outputBytes)
          return { ...printed(tool, 0), success: false, failure: 'output-too-large', output: null };
        return printed(tool, bytes);
      },
    });
    const end = async (version: string, megabytes: number) => {
      ends.get(version)!(megabytes * MB);
      await new Promise(setImmediate);
    };
    return { shares, end, all, most: () => most };
  }

  it('runs two at a time, and keeps the order of the job in the results', async () => {
    const { shares, end, all, most } = controlled(['1', '2', '3', '4']);
    assert.equal(shares.length, 2);
    await end('2', 0);
    assert.equal(shares.length, 3);
    for (const version of ['3', '1', '4']) await end(version, 0);
    assert.deepEqual(
      (await all).map(({ version }) => version),
      ['1', '2', '3', '4'],
    );
    assert.equal(most(), 2);
  });

  it('gives a later run what two full outputs leave', async () => {
    const { shares, end, all } = controlled(['1', '2', '3', '4']);
    await end('1', 60);
    // 4 MB are left while that run goes on: the third waits for its output.
    assert.deepEqual(shares, [64, 64]);
    await end('2', 40);
    assert.deepEqual(shares, [64, 64, 28]);
    await end('3', 28);
    const results = await all;
    assert.deepEqual(
      results.map(({ success }) => success),
      [true, true, true, false],
    );
    assert.equal(results[3]!.failure, 'output-too-large');
    assert.match(
      results[3]!.error!,
      /^ffprobe 4 printed more than the 0 MB that the other runs left of the output limit/,
    );
    assert.ok(results.reduce((sum, { output }) => sum + (output?.length ?? 0), 0) <= 128 * MB);
  });

  it('fails a run that prints more than is left, with that limit in the error', async () => {
    const { end, all } = controlled(['1', '2', '3']);
    await end('1', 64);
    await end('2', 50);
    await end('3', 60);
    assert.match((await all)[2]!.error!, /^ffprobe 3 printed more than the 14 MB that the other runs left/);
  });

  it('does not start a run for which no time is left, and bills nothing for it', async () => {
    const started: string[] = [];
    const results = await runSeveral(tools('1', '2', '3'), {
      outputBytes: 64 * MB,
      remainingMs: 20,
      kept: 0,
      run: async (tool, { remainingMs }) => {
        started.push(tool.version);
        await delay(remainingMs + 5);
        return { ...printed(tool, 0), success: false, failure: 'timeout', error: 'late', usageMs: remainingMs };
      },
    });
    assert.deepEqual(started, ['1', '2']);
    const { failure, error, usageMs } = results[2]!;
    assert.deepEqual(
      [failure, error, usageMs],
      ['timeout', 'ffprobe 3 did not start: the other runs took all of the time', 0],
    );
  });

  it('fails the job if a run cannot start', async () => {
    const broken = runSeveral(tools('1', '2', '3'), {
      outputBytes: MB,
      remainingMs: 1000,
      kept: 0,
      run: () => Promise.reject(new Error('broken')),
    });
    await assert.rejects(broken, /broken/);
  });
});

describe('comparison in an agent', function () {
  this.timeout(60_000);
  const rig = new Rig();
  before(async () => {
    await rig.start();
    await rig.newAgent();
  });
  after(() => rig.stop());

  const FILE = Buffer.alloc(600_000, 'a');
  const reads = (json: string) => `curl -s "$address" | wc -c >&2; echo '${json}'`;

  it('reads the origin once for consecutive runs, and restores addresses in their output', async () => {
    let asked = 0;
    let sent = 0;
    rig.serve = (request, response) => {
      asked += 1;
      const range = /^bytes=(\d+)-(\d+)?$/.exec(request.headers.range ?? '');
      const from = Number(range?.[1] ?? 0);
      const bytes = FILE.subarray(from, range?.[2] === undefined ? FILE.length : Number(range[2]) + 1);
      sent += bytes.length;
      response.writeHead(range ? 206 : 200, {
        'Content-Length': bytes.length,
        'Content-Type': 'video/mp4',
        ETag: '"1"',
        'Accept-Ranges': 'bytes',
        ...(range ? { 'Content-Range': `bytes ${from}-${from + bytes.length - 1}/${FILE.length}` } : {}),
      });
      response.end(bytes);
    };
    const runs = ['4.4', '5.1', '6.1', '7.1', '9.0'].map((version, at) =>
      rig.script(
        `size=$(curl -s "$address" | wc -c); echo "{\\"at\\":${at},\\"size\\":$size,\\"filename\\":\\"$address\\"}"`,
        {
          version,
          build: `build of ${version}`,
        },
      ),
    );
    const { body } = await rig.run(rig.go(runs, { assignment: { kind: 'compare' } }));
    assert.deepEqual(
      body.tools.map(({ version, build, success, error }) => [version, build, success, error]),
      ['4.4', '5.1', '6.1', '7.1', '9.0'].map((version) => [version, `build of ${version}`, true, undefined]),
    );
    for (const { output } of body.tools) assert.equal((JSON.parse(output!) as { size: number }).size, FILE.length);
    assert.ok(sent < FILE.length * 1.1, `${sent} bytes in ${asked} requests`);
    assert.ok(body.ioUsage < FILE.length * 1.1, `io_usage ${body.ioUsage}`);
    const { fields } = comparisonOf(body);
    assert.deepEqual(
      fields.map(({ path, change, values }) => [path, change, values]),
      [['at', 'value', { '4.4': 0, '5.1': 1, '6.1': 2, '7.1': 3, '9.0': 4 }]],
    );
    assert.ok(!body.comparison!.output.includes('127.0.0.1:'));
  });

  it('reports a failed run beside the others, and compares those', async () => {
    rig.serve = (_request, response) => response.writeHead(200).end('x');
    const runs = [
      rig.script(reads('{"a":1}'), { version: '4.4' }),
      rig.script('echo broken >&2; exit 3', { version: '5.1' }),
      rig.script(reads('{"a":2}'), { version: '7.1' }),
    ];
    const { body } = await rig.run(rig.go(runs, { assignment: { kind: 'compare' } }));
    assert.deepEqual(
      body.tools.map(({ success }) => success),
      [true, false, true],
    );
    const { fields, summary } = comparisonOf(body);
    assert.deepEqual(fields[0]?.values, { '4.4': 1, '7.1': 2 });
    assert.equal(summary.not_compared[0]?.run, '5.1');
  });

  it('starts no further run of a dropped job', async () => {
    const started = join(rig.directory, 'started');
    const scripts = ['511', '512'].map((seconds) => rig.script(`echo ${seconds} >> ${started}; sleep ${seconds}`));
    const order = rig.go(
      [...scripts, rig.script(`echo third >> ${started}`)].map((tool, at) => ({ ...tool, version: `${at}` })),
      { assignment: { kind: 'compare' } },
    );
    const lines = () => (existsSync(started) ? readFileSync(started, 'utf8').trim().split('\n').toSorted() : []);
    await rig.say(SUBJECT.go, order);
    await until('two run', () => lines().length === 2);
    await rig.say(SUBJECT.cancel, { epoch: 1, job: order.job, attempt: 1, why: 'cancelled' } satisfies Cancel);
    await rig.phase('idle');
    // A later job that has ended shows that the agent is past the dropped one.
    await rig.run(rig.go([rig.script('echo "{}"')]));
    assert.deepEqual(lines(), ['511', '512']);
  });
});
