import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { type AssignedTool, type Cancel, SUBJECT } from '../../src/platform/bus/messages.ts';
import type { FailureCode } from '../../src/platform/bus/result_body.ts';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { sampleWav } from '../../src/service/runner/verify_sample.ts';
import type { Source } from '../../src/source/source.ts';
import { identityOf } from '../../src/source/http/identity.ts';
import { until } from '../until.ts';
import { Rig } from './agent_rig.ts';
import { processesWith } from './found.ts';
import { headOf } from '../result/text_body.ts';

const which = (tool: string): string => spawnSync('which', [tool], { encoding: 'utf8' }).stdout.trim();
const wav = sampleWav(80_000);

describe('agent', function () {
  this.timeout(30_000);
  const rig = new Rig();
  before(() => rig.start());
  after(() => rig.stop());
  beforeEach(async () => {
    rig.serve = (request, response) => {
      const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
      const [from, to] = [Number(range?.[1] ?? 0), Math.min(Number(range?.[2] || wav.length - 1), wav.length - 1)];
      response.writeHead(range ? 206 : 200, {
        'accept-ranges': 'bytes',
        'content-length': to - from + 1,
        etag: '"wav"',
        ...(range ? { 'content-range': `bytes ${from}-${to}/${wav.length}` } : {}),
      });
      response.end(request.method === 'HEAD' ? undefined : wav.subarray(from, to + 1));
    };
    await rig.newAgent();
  });

  const file = (name: string) => join(rig.directory, name);
  const ok = (text: string) => `echo '${text}'`;

  it('probes a source with the real tools in parallel, and shows the address of the caller', async function () {
    const tools = (['ffprobe', 'mediainfo'] as const).filter((name) => which(name) !== '');
    if (tools.length < 2) {
      console.log('      skipped: ffprobe and mediainfo are not installed');
      this.skip();
    }
    const order = rig.go(
      tools.map((name): AssignedTool => ({
        name,
        version: '1',
        timeoutMs: 20_000,
        options: {},
        command: [which(name)],
      })),
      { source: `${rig.originUrl}/a.wav?token=verysecretvalue1` },
    );
    const { body, header } = await rig.run(order);
    assert.deepEqual(
      body.tools.map(({ name, success, exitCode, error }) => ({ name, success, exitCode, error })),
      tools.map((name) => ({ name, success: true, exitCode: 0, error: undefined })),
    );
    const [ffprobe, mediainfo] = body.tools.map(({ output }) => JSON.parse(output ?? '') as any);
    assert.equal(ffprobe.streams[0].codec_name, 'pcm_s16le');
    assert.equal(ffprobe.format.filename, `${rig.originUrl}/a.wav?token=REDACTED`);
    assert.equal(mediainfo.media['@ref'], `${rig.originUrl}/a.wav?token=REDACTED`);
    assert.ok(body.ioUsage > 0 && body.ioUsage <= wav.length * 1.5, String(body.ioUsage));
    assert.equal(body.identity, identityOf({ etag: '"wav"' }, wav.length));
    assert.ok(
      !JSON.stringify(body).includes('verysecret') && !JSON.stringify(body).includes('127.0.0.1:' + rig.proxy.port),
    );
    assert.deepEqual([header.podUid, header.attempt, header.epoch, header.chunks], [rig.uid, 1, 1, 0]);
    await rig.phase('idle');
    assert.deepEqual([rig.beats.at(-1)?.jobsDone, rig.beats.at(-1)?.tenant], [1, 'account/1']);
  });

  it('names no identity of a file of which a run failed', async () => {
    for (const [end, named] of [
      ["echo '{}'", true],
      ['exit 1', false],
    ] as const) {
      const { body } = await rig.run(rig.go([rig.script(`/usr/bin/curl -s -o /dev/null "$address"; ${end}`)]));
      assert.equal(body.identity !== undefined, named, end);
    }
  });

  it('prepares a source before the go order, and reads nothing twice', async () => {
    let requests = 0;
    const serve = rig.serve;
    rig.serve = (request, response) => {
      requests += 1;
      serve(request, response);
    };
    const order = rig.go([rig.script('/usr/bin/curl -s -o /dev/null -r 0-999 "$address"; echo "{}"')]);
    await rig.prepare(order);
    await rig.phase('prepared');
    await until('the head is read', () => requests > 0);
    const before = requests;
    const { body } = await rig.run(order);
    assert.equal(body.tools[0]?.success, true, JSON.stringify(body));
    assert.equal(requests, before);
  });

  it('is idle again but still bound if no go order follows a prepare order', async () => {
    const order = rig.go([rig.script(ok('{}'))]);
    await rig.say(SUBJECT.prepare, order);
    await rig.phase('prepared');
    await rig.phase('idle', 5_000);
    assert.equal(rig.agent.state().tenant, 'account/1');
    assert.deepEqual(await rig.say(SUBJECT.go, { ...order, tenant: 'account/2' }), { ok: false, why: 'tenant' });
    assert.equal((await rig.run(order)).body.tools[0]?.success, true);
  });

  it('runs a job once, even if it is ordered several times', async () => {
    const order = rig.go([rig.script(`echo ran >> ${file('ran')}; sleep 0.1; echo '{}'`)]);
    await Promise.all([rig.say(SUBJECT.go, order), rig.say(SUBJECT.go, order), rig.say(SUBJECT.prepare, order)]);
    await rig.taken(order.job);
    await rig.phase('idle');
    assert.deepEqual(await rig.say(SUBJECT.go, order), { ok: true });
    assert.equal(readFileSync(file('ran'), 'utf8'), 'ran\n');
    assert.equal(rig.results.length, 1);
  });

  it('refuses orders that are not for it', async () => {
    const long = rig.go([rig.script('sleep 20')], { epoch: 3 });
    await rig.say(SUBJECT.go, long);
    assert.deepEqual(await rig.say(SUBJECT.go, rig.go([], { epoch: 3 })), { ok: false, why: 'busy' });
    assert.deepEqual(await rig.say(SUBJECT.go, rig.go([], { epoch: 2 })), { ok: false, why: 'epoch' });
    assert.deepEqual(await rig.say(SUBJECT.cancel, { ...long, epoch: 2, why: 'cancelled' }), {
      ok: false,
      why: 'epoch',
    });
    rig.lease = { epoch: 2, leaseMs: 15_000, cancel: { job: long.job, attempt: 1 } };
    const seen = rig.beats.length;
    await until('some heartbeats', () => rig.beats.length > seen + 3);
    assert.equal(rig.agent.state().task?.job, long.job, 'an older leader cancels nothing');
  });

  it('ends a cancelled job at once with all of its processes, and publishes nothing', async () => {
    const order = rig.go([rig.script(`setsid sleep 501 & echo $$ > ${file('pid')}; sleep 502`)]);
    await rig.say(SUBJECT.go, order);
    await until(
      'it runs',
      () => existsSync(file('pid')) && readFileSync(file('pid'), 'utf8') !== '' && running('sleep\x00501\x00'),
    );
    const begun = performance.now();
    const said = await rig.say(SUBJECT.cancel, {
      epoch: 1,
      job: order.job,
      attempt: 1,
      why: 'cancelled',
    } satisfies Cancel);
    assert.ok(said?.ok && said.used && said.used.ms > 0, 'it tells what the job has cost');
    assert.equal(said.used.bytes, 0);
    await until('the tools are gone', () => !running('sleep\x00501\x00') && !running('sleep\x00502\x00'));
    assert.ok(performance.now() - begun < 25_000, 'not at their own end, which is after 500 s');
    await rig.phase('idle');
    // The next job starts clean, and its result is the first.
    await rig.run(rig.go([rig.script(ok('{}'))]));
    assert.deepEqual(
      rig.results.map(({ header }) => header.job === order.job),
      [false],
    );
  });

  it('cancels a job named in the reply to a heartbeat', async () => {
    const order = rig.go([rig.script('sleep 503')]);
    await rig.say(SUBJECT.go, order);
    rig.lease = { epoch: 1, leaseMs: 15_000, cancel: { job: order.job, attempt: 1 } };
    await rig.phase('idle');
    await until('the process of the tool ended', () => !running('sleep\x00503\x00'));
  });

  const failures: [
    string,
    string,
    Partial<AssignedTool>,
    FailureCode,
    RegExp,
    { exitCode: number | null; signal: string | null },
  ][] = [
    [
      'times out',
      'echo "{"; sleep 60',
      { timeoutMs: 200 },
      'timeout',
      /^ffprobe did not finish within 200 ms: it spent 0 ms of it waiting for the host$/,
      { exitCode: 137, signal: 'SIGKILL' },
    ],
    [
      'crashes',
      'kill -SEGV $$',
      {},
      'crashed',
      /^ffprobe was ended by SIGSEGV \(exit code 139\)$/,
      { exitCode: 139, signal: 'SIGSEGV' },
    ],
    [
      'is killed by the kernel',
      'kill -KILL $$',
      {},
      'out-of-memory',
      /^ffprobe ran out of memory \(exit code 137\)$/,
      { exitCode: 137, signal: 'SIGKILL' },
    ],
    [
      'fails with a message',
      'echo "$address: Invalid data found" >&2; exit 7',
      {},
      'failed',
      /^http:\/\/127\.0\.0\.1:\d+\/a\.wav: Invalid data found \(exit code 7\)$/,
      { exitCode: 7, signal: null },
    ],
    [
      'prints too much',
      'head -c 9000000 /dev/zero',
      {},
      'output-too-large',
      /^ffprobe printed more than the output limit$/,
      { exitCode: 137, signal: 'SIGKILL' },
    ],
    [
      'prints invalid JSON',
      'echo "{} {}"',
      {},
      'failed',
      /^ffprobe printed invalid JSON \(exit code 0\)$/,
      { exitCode: 0, signal: null },
    ],
    [
      'prints nothing',
      'true',
      {},
      'failed',
      /^ffprobe printed nothing \(exit code 0\)$/,
      { exitCode: 0, signal: null },
    ],
    [
      'is missing',
      'true',
      { command: ['/nonexistent/tool'] },
      'unavailable',
      /^ffprobe 7\.1 cannot be started$/,
      { exitCode: null, signal: null },
    ],
    [
      'gets an unsupported option',
      'echo "{}"',
      { options: { f: 'lavfi' } },
      'failed',
      /^f: is unknown$/,
      { exitCode: null, signal: null },
    ],
  ];
  for (const [what, script, more, code, message, ended] of failures) {
    it(`a tool that ${what} is reported as ${code}, beside the result of the other tool`, async () => {
      const { body } = await rig.run(
        rig.go([rig.script(script, more), rig.script('sleep 0.3; echo "{\\"media\\":{}}"', { name: 'mediainfo' })]),
      );
      const [bad, good] = body.tools;
      assert.deepEqual(
        [bad?.success, bad?.failure, bad?.exitCode, bad?.signal],
        [false, code, ended.exitCode, ended.signal],
      );
      assert.match(bad?.error ?? '', message);
      assert.deepEqual([good?.success, good?.output], [true, '{"media":{}}\n']);
      assert.equal(outcome(headOf(body), body.tools).state, 'with-errors');
    });
  }

  it('ends every tool when the time of the request is over', async () => {
    const { body } = await rig.run(
      rig.go([rig.script('sleep 60'), rig.script('sleep 60', { name: 'mediainfo' })], { remainingMs: 1_500 }),
    );
    assert.deepEqual(
      body.tools.map(({ failure }) => failure),
      ['timeout', 'timeout'],
    );
    assert.ok(body.tools.every(({ durationMs }) => durationMs >= 200 && durationMs < 30_000));
  });

  const CURL =
    '/usr/bin/curl -sf -o /dev/null "$address" || { echo "Server returned an error" >&2; exit 1; }; echo "{}"';
  it('a time-out says whether the host or the tool spent the time', async () => {
    const serve = rig.serve;
    rig.serve = () => {};
    const waits = rig.script('/usr/bin/curl -s "$address"', { timeoutMs: 2_000 });
    const works = rig.script('sleep 60', { name: 'mediainfo', timeoutMs: 400 });
    const { body } = await rig.run(rig.go([waits, works]));
    rig.serve = serve;
    assert.deepEqual(
      body.tools.map(({ failure, code }) => [failure, code]),
      [
        ['timeout', 'timeout-origin'],
        ['timeout', 'timeout'],
      ],
    );
    // Without the start of the script and of curl.
    const [, waited] =
      /^ffprobe did not finish within 2000 ms: it spent (\d+) ms of it waiting for the host$/.exec(
        body.tools[0]?.error ?? '',
      ) ?? assert.fail(body.tools[0]?.error);
    assert.ok(Number(waited) >= 1_000 && Number(waited) <= 2_000, waited);
  });

  const unread: [what: string, serve: RequestListener, source: string | undefined, message: string][] = [
    [
      'the host does not accept connections',
      () => {},
      'http://127.0.0.1:1/a.wav',
      'the host does not accept connections: it refused the connection',
    ],
    ['the host answers 404', (_, response) => response.writeHead(404).end('gone'), undefined, 'the host answered 404'],
    [
      'the host closes the connection after the head',
      (_, response) => {
        response.writeHead(200, { 'content-length': 100 }).flushHeaders();
        response.destroy();
      },
      undefined,
      'the host closed the connection after 0 B of 100 B',
    ],
  ];
  for (const [what, serve, source, message] of unread)
    it(`takes no output of a tool that succeeds although ${what}`, async () => {
      rig.serve = serve;
      const tool = rig.script(`/usr/bin/curl -s -o /dev/null "$address"; ${ok('{}')}`);
      const { body } = await rig.run(rig.go([tool], source === undefined ? {} : { source }));
      assert.deepEqual(
        body.tools.map(({ success, error }) => [success, error]),
        [[false, message]],
      );
    });

  it('takes the output of a tool that got on without the end of its source', async () => {
    rig.serve = (_, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 });
      response.write(Buffer.alloc(500_000), () => response.destroy());
    };
    const { body } = await rig.run(rig.go([rig.script(`/usr/bin/curl -s -o /dev/null "$address"; ${ok('{}')}`)]));
    assert.deepEqual([body.tools[0]?.success, body.source?.failure], [true, 'source-cut']);
  });

  const sources: [
    string,
    (path: string) => { source?: string | Source; status?: number; location?: string },
    FailureCode,
    number,
  ][] = [
    ['an origin that answers 404', () => ({ status: 404 }), 'origin-unreachable', 404],
    ['an origin that answers 500', () => ({ status: 500 }), 'origin-unreachable', 404],
    ['an origin that is not listening', () => ({ source: 'http://127.0.0.1:1/a.wav' }), 'origin-unreachable', 404],
    ['a private address', () => ({ source: 'http://10.0.0.1/a.wav' }), 'source-forbidden', 400],
    [
      'a redirect to a private address',
      () => ({ status: 302, location: 'http://169.254.169.254/latest/meta-data/' }),
      'source-forbidden',
      400,
    ],
    [
      'an unsupported scheme',
      () => ({ source: { scheme: 'gopher', url: 'gopher://127.0.0.1/', class: 'file' } as unknown as Source }),
      'source-forbidden',
      400,
    ],
    ['a declared size over the limit', () => ({ status: 200 }), 'source-too-large', 400],
  ];
  for (const [what, make, code, status] of sources) {
    it(`reports ${what} as ${code}, ${status}`, async () => {
      const { source, status: answer, location } = make('');
      rig.serve = (_request, response) => {
        response.writeHead(answer ?? 200, {
          ...(location ? { location } : {}),
          'content-length': answer === 200 ? 20_000_000_000 : 0,
        });
        if (answer === 200) response.write('x');
        else response.end();
      };
      const { body } = await rig.run(
        rig.go([rig.script(CURL), rig.script(CURL, { name: 'mediainfo' })], source ? { source } : {}),
      );
      assert.deepEqual(
        body.tools.map(({ success, failure }) => ({ success, failure })),
        [
          { success: false, failure: code },
          { success: false, failure: code },
        ],
      );
      assert.equal(body.source?.failure, code);
      assert.equal(outcome(headOf(body), body.tools).status, status);
    });
  }

  it('sends a large result in chunks, complete', async () => {
    writeFileSync(
      file('large'),
      JSON.stringify({ noise: randomBytes(1_500_000).toString('base64'), text: 'ä\u{1f3ac}"\\' }),
    );
    const { header, body } = await rig.run(rig.go([rig.script(`cat ${file('large')}`)]));
    assert.ok(header.chunks >= 3, String(header.chunks));
    assert.equal(body.tools[0]?.output, readFileSync(file('large'), 'utf8'));
  });

  it('sends a result again until its collection is confirmed', async () => {
    rig.confirm = false;
    const order = rig.go([rig.script(ok('{}'))]);
    await rig.say(SUBJECT.go, order);
    await rig.taken(order.job);
    await rig.phase('publishing');
    await until('the result was sent again', () => rig.results.length >= 2, 20_000);
    assert.deepEqual(rig.results[1], rig.results[0]);
    rig.leader.publish(SUBJECT.collected(rig.uid), { job: order.job, attempt: 1 });
    await rig.phase('idle');
    assert.equal(rig.beats.at(-1)?.jobsDone, 1);
  });

  it('takes the next job while the last result is not confirmed yet', async () => {
    rig.confirm = false;
    const first = rig.go([rig.script(ok('{}'))]);
    await rig.say(SUBJECT.go, first);
    await rig.taken(first.job);
    const second = rig.go([rig.script(ok('{"second":1}'))]);
    assert.deepEqual(await rig.say(SUBJECT.go, second), { ok: true });
    assert.equal((await rig.taken(second.job)).body.tools[0]?.output, '{"second":1}\n');
    assert.deepEqual(
      await rig.say(SUBJECT.go, rig.go([])),
      { ok: false, why: 'busy' },
      'two results are what its memory holds',
    );
  });

  it('delivers its result after a restart of NATS without its data', async () => {
    const order = rig.go([rig.script('sleep 0.5; echo "{}"')]);
    await rig.say(SUBJECT.go, order);
    await rig.nats.restart({ wipe: true });
    assert.equal((await rig.taken(order.job)).body.tools[0]?.success, true);
    await until('the agent counted the job as done', () => rig.agent.state().jobsDone === 1, 20_000);
  });

  it('abandons its job when no leader renews the lease, and accepts it again', async () => {
    rig.lease = { epoch: 1, leaseMs: 1_500 };
    const order = rig.go([
      rig.script(`echo x >> ${file('tries')}; [ $(wc -l < ${file('tries')}) = 1 ] && sleep 504; echo '{}'`),
    ]);
    await rig.say(SUBJECT.go, order);
    await until('it runs', () => running('sleep\x00504\x00'));
    const begun = performance.now();
    await until('it outlived its first lease', () => performance.now() - begun > 2_000);
    assert.equal(rig.agent.state().task?.job, order.job);
    rig.lease = undefined;
    await until('the job is dropped', () => rig.agent.state().task === undefined, 10_000);
    await until('the process of the tool ended', () => !running('sleep\x00504\x00'));
    assert.deepEqual([rig.agent.state().jobsDone, rig.results.length], [0, 0]);
    rig.lease = { epoch: 2, leaseMs: 15_000 };
    assert.equal((await rig.run({ ...order, epoch: 2 })).body.tools[0]?.success, true);
  });

  it('while draining finishes its job, takes no other, and ends when the result is collected', async () => {
    const order = rig.go([rig.script('sleep 0.5; echo "{}"')]);
    await rig.say(SUBJECT.go, order);
    const drained = rig.agent.drain('test');
    assert.deepEqual(await rig.say(SUBJECT.go, rig.go([])), { ok: false, why: 'draining' });
    assert.equal((await rig.taken(order.job)).body.tools[0]?.success, true);
    await drained;
    assert.equal(rig.agent.state().jobsDone, 1);
  });

  it('drains on request of the leader', async () => {
    rig.lease = { epoch: 1, leaseMs: 15_000, drain: true };
    await rig.agent.ended;
  });

  it('reports a container killed for memory as a failure of its tools, and continues with the next one', async () => {
    const order = rig.go([
      rig.script(`touch ${file('up')}; exec sleep 505`),
      rig.script('exec sleep 506', { name: 'mediainfo' }),
    ]);
    await rig.say(SUBJECT.go, order);
    await until('it runs', () => existsSync(file('up')));
    await rig.launcherProcess.restart();
    const { body } = await rig.taken(order.job);
    assert.deepEqual(
      body.tools.map(({ failure, error }) => ({ failure, error })),
      [
        { failure: 'out-of-memory', error: 'ffprobe ran out of memory (exit code 137)' },
        { failure: 'out-of-memory', error: 'mediainfo ran out of memory (exit code 137)' },
      ],
    );
    assert.equal(outcome(headOf(body), body.tools).status, 200);
    await until('its tools are gone', () => !running('sleep\x00505\x00') && !running('sleep\x00506\x00'));
    await rig.launcher.whenConnected(5_000);
    assert.equal((await rig.run(rig.go([rig.script(ok('{}'))]))).body.tools[0]?.success, true);
  });

  it('sends a heartbeat to a new leader at once', async () => {
    const seen = rig.beats.length;
    rig.leader.publish(SUBJECT.report, {});
    await until('a heartbeat', () => rig.beats.length > seen);
  });

  it('adds little to the run time of a tool', async () => {
    const times: number[] = [];
    const tool = rig.script(ok('{}'));
    for (let index = 0; index < 60; index++) {
      const order = rig.go([tool]);
      await rig.phase('idle');
      const begun = performance.now();
      const { body } = await new Promise<Awaited<ReturnType<Rig['run']>>>((resolve, reject) => {
        rig.run(order).then(resolve, reject);
      });
      times.push(performance.now() - begun - (body.tools[0]?.durationMs ?? 0));
    }
    times.sort((a, b) => a - b);
    console.log(
      `      go to collected beside the tool: p50 ${times[30]?.toFixed(1)} ` +
        `ms, p90 ${times[54]?.toFixed(1)} ms (polled every 10 ms)`,
    );
    assert.ok((times[30] ?? 0) < 500, 'no wait is in the way');
  });
});

/** Whether a process with this command line exists. */
const running = (command: string): boolean => processesWith(command).length > 0;
