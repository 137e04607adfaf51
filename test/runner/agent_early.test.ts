/** Jobs whose tools begin before the admission, in a real agent. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { EARLY_OVER_MS, type AssignedTool, type Cancel, type Go, SUBJECT } from '../../src/platform/bus/messages.ts';
import type { Policy } from '../../src/media/policy/types.ts';
import { outputsOf } from '../report/sample.ts';
import { until } from '../until.ts';
import { answering, Rig } from './agent_rig.ts';
import { odd, sleeps } from './found.ts';

/** Longer than what a prepare reads. */
const media = Buffer.alloc(4 << 20, 'media ');
const playlist = '#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST\n';

describe('agent: early start', function () {
  this.timeout(30_000);
  const rig = new Rig();
  /** The last byte that was asked of the origin. */
  let last = 0;
  before(() => rig.start());
  after(() => rig.stop());
  beforeEach(async () => {
    last = 0;
    rig.serve = (request, response) => {
      if (request.url?.endsWith('.m3u8'))
        return void response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' }).end(playlist);
      const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
      const [from, to] = [Number(range?.[1] ?? 0), Math.min(Number(range?.[2] || Infinity), media.length - 1)];
      last = Math.max(last, from);
      response.writeHead(range ? 206 : 200, {
        'accept-ranges': 'bytes',
        'content-length': to - from + 1,
        ...(range ? { 'content-range': `bytes ${from}-${to}/${media.length}` } : {}),
      });
      response.end(request.method === 'HEAD' ? undefined : media.subarray(from, to + 1));
    };
    rmSync(file('ran'), { force: true });
    await rig.newAgent();
  });

  const file = (name: string) => join(rig.directory, name);
  /** How often a tool ran that notes it. */
  const runs = () => (existsSync(file('ran')) ? readFileSync(file('ran'), 'utf8').split('\n').length - 1 : 0);
  /** Notes that it runs, and prints the how manieth run it was. */
  const counted = (script = '', more: Partial<AssignedTool> = {}): AssignedTool =>
    rig.script(`echo ran >> ${file('ran')}; n=$(wc -l < ${file('ran')}); ${script}\necho "{\\"run\\":$n}"`, more);
  const result = (order: Go) => rig.taken(order.job).then(({ body }) => body.tools.map(({ output }) => output));
  const heartbeats = async (count: number) => {
    const seen = rig.beats.length;
    await until(`${count} heartbeats`, () => rig.beats.length >= seen + count);
  };
  const idleAgain = () => rig.phase('idle');
  const go = async (order: Go) => assert.deepEqual(await rig.say(SUBJECT.go, order), { ok: true });
  const published = () => rig.results.map(({ header }) => header.job);

  it('answers a prepare with a number, another each time', async () => {
    const numbers = [await rig.prepare(rig.go([])), await rig.prepare(rig.go([]))];
    for (const number of numbers) assert.match(number ?? '', /^[1-9][0-9]{0,19}$/);
    assert.notEqual(numbers[0], numbers[1]);
  });

  it('begins on a begin, publishes on the go, and runs once', async () => {
    const far = 3 << 20;
    const order = rig.go([
      counted(`/usr/bin/curl -sf -o /dev/null -r ${far}-${far + 999} "$address" && touch ${file('read')}`),
    ]);
    const number = await rig.prepare(order);
    assert.ok(last < far, 'inconclusive: the prepare reads it, too');
    await rig.begin(order, number);
    await until('the tool has read the source', () => existsSync(file('read')));
    assert.equal(last, far);
    await heartbeats(2);
    const { phase, early, job } = rig.beats.at(-1)!;
    assert.deepEqual({ phase, early, job }, { phase: 'prepared', early: true, job: order.job });
    assert.deepEqual(published(), []);
    await go(order);
    assert.deepEqual(await result(order), ['{"run":1}\n']);
    await idleAgain();
    assert.deepEqual([runs(), published().length, rig.agent.state().jobsDone], [1, 1, 1]);
    assert.equal(rig.beats.at(-1)?.early, undefined);
  });

  it('a tool that runs during the go runs on, as long as it takes', async () => {
    const order = rig.go([counted('sleep 2')]);
    await rig.begin(order);
    await until('it runs', () => runs() === 1);
    await go(order);
    assert.deepEqual(await result(order), ['{"run":1}\n']);
    assert.ok((rig.results[0]?.body.tools[0]?.durationMs ?? 0) >= 1_900);
    await idleAgain();
    assert.equal(runs(), 1);
  });

  it('two tools begin with one number', async () => {
    const order = rig.go([counted('sleep 0.2'), counted('sleep 0.2', { name: 'mediainfo' })]);
    await rig.begin(order);
    await until('both run', () => runs() === 2);
    await go(order);
    const { body } = await rig.taken(order.job);
    assert.deepEqual(
      body.tools.map(({ name, success }) => [name, success]),
      [
        ['ffprobe', true],
        ['mediainfo', true],
      ],
    );
    await idleAgain();
    assert.equal(runs(), 2);
  });

  it('a second go of what was begun runs nothing', async () => {
    const order = rig.go([counted('sleep 0.2')]);
    await rig.begin(order);
    await Promise.all([go(order), go(order)]);
    await result(order);
    await idleAgain();
    await go(order);
    await heartbeats(2);
    assert.deepEqual([runs(), published().length], [1, 1]);
  });

  const again: [string, (order: Go) => Go][] = [
    ['a changed assignment', (order) => ({ ...order, assignment: { ...order.assignment, maxBytes: 9_999_999 } })],
    ['a newer epoch', (order) => ({ ...order, epoch: 2 })],
    ['another attempt', (order) => ({ ...order, attempt: 2 })],
  ];
  for (const [what, change] of again) {
    it(`a go with ${what} runs the tools again, and the first result is never published`, async () => {
      const order = rig.go([counted()]);
      await rig.begin(order);
      await until('it ran', () => runs() === 1);
      const changed = change(order);
      rig.lease = { epoch: changed.epoch, leaseMs: 15_000 };
      await go(changed);
      assert.deepEqual(await result(order), ['{"run":2}\n']);
      await idleAgain();
      assert.equal(runs(), 2);
      assert.deepEqual(
        rig.results.map(({ header: { epoch, attempt } }) => ({ epoch, attempt })),
        [{ epoch: changed.epoch, attempt: changed.attempt }],
      );
    });

    it(`a go with ${what} ends a tool that still runs before it starts its own`, async () => {
      // The brackets keep the pattern from matching the command line of grep.
      const beside = `grep -qsa "sleep.${odd(611).replace('6', '[6]')}" /proc/[0-9]*/cmdline && echo beside`;
      const order = rig.go([counted(`[ $n = 1 ] && { setsid sleep ${odd(611)} & sleep 300; }; ${beside}`)]);
      await rig.begin(order);
      await until('it runs', () => sleeps(611));
      const changed = change(order);
      rig.lease = { epoch: changed.epoch, leaseMs: 15_000 };
      await go(changed);
      assert.deepEqual(await result(order), ['{"run":2}\n']);
      assert.equal(sleeps(611), false);
    });
  }

  it('a go of another job ends what was begun', async () => {
    const [first, second] = [rig.go([rig.script(`sleep ${odd(612)}`)]), rig.go([counted()])];
    await rig.begin(first);
    await until('it runs', () => sleeps(612));
    await go(second);
    assert.deepEqual(await result(second), ['{"run":1}\n']);
    assert.equal(sleeps(612), false);
    assert.deepEqual(published(), [second.job]);
  });

  it('a begin with a wrong number runs nothing, and the go runs the job', async () => {
    const order = rig.go([counted()]);
    const number = (await rig.prepare(order)) ?? '';
    await rig.begin(order, String(BigInt(number) ^ 1n));
    await heartbeats(3);
    assert.equal(runs(), 0);
    await go(order);
    assert.deepEqual(await result(order), ['{"run":1}\n']);
    await idleAgain();
    assert.deepEqual([runs(), published().length], [1, 1]);
  });

  it('a begin with the number of an earlier prepare runs nothing', async () => {
    const [first, second] = [rig.go([counted()]), rig.go([counted()])];
    const number = await rig.prepare(first);
    await rig.prepare(second);
    await rig.begin(second, number);
    await heartbeats(3);
    assert.equal(runs(), 0);
    await go(second);
    assert.deepEqual(await result(second), ['{"run":1}\n']);
  });

  it('a begin that is not of the prepared job is refused', async () => {
    const order = rig.go([counted()]);
    const number = await rig.prepare(order);
    for (const [more, why] of [
      [{ job: 'other' }, 'busy'],
      [{ attempt: 2 }, 'busy'],
      [{ epoch: 2 }, 'busy'],
      [{ epoch: 0 }, 'epoch'],
    ] as const)
      assert.deepEqual(await rig.say(SUBJECT.begin, { epoch: 1, job: order.job, attempt: 1, number, ...more }), {
        ok: false,
        why,
      });
    await heartbeats(2);
    assert.equal(runs(), 0);
  });

  it('without a go the tool ends in time, and the agent takes another job', async () => {
    const order = rig.go([rig.script(`setsid sleep ${odd(613)} & sleep 300`)]);
    await rig.begin(order);
    await until('it runs', () => sleeps(613), 400);
    await until('it is gone', () => !sleeps(613), EARLY_OVER_MS);
    await idleAgain();
    const next = rig.go([counted()]);
    await rig.begin(next);
    await go(next);
    assert.deepEqual(await result(next), ['{"run":1}\n']);
    await idleAgain();
    assert.deepEqual(published(), [next.job]);
  });

  for (const [what, script] of [
    ['that had ended', ''],
    ['that still ran', '[ $n = 1 ] && sleep 300'],
  ] as const)
    it(`a go long after a begun tool ${what} runs it again`, async () => {
      const order = rig.go([counted(script)]);
      await rig.begin(order);
      await until('it ran', () => runs() === 1);
      await idleAgain();
      assert.deepEqual(published(), []);
      await go(order);
      assert.deepEqual(await result(order), ['{"run":2}\n']);
      await idleAgain();
      assert.deepEqual([runs(), published().length, rig.agent.state().jobsDone], [2, 1, 1]);
    });

  it('a cancelled job that has begun ends at once and publishes nothing', async () => {
    const order = rig.go([rig.script(`setsid sleep ${odd(614)} & sleep 300`)]);
    await rig.begin(order);
    await until('it runs', () => sleeps(614));
    const cancel: Cancel = { epoch: 1, job: order.job, attempt: 1, why: 'cancelled' };
    assert.equal((await rig.say(SUBJECT.cancel, cancel))?.ok, true);
    // Prepared at once, while the last tools are being ended.
    const next = rig.go([counted()]);
    await rig.begin(next);
    await go(next);
    assert.deepEqual(await result(next), ['{"run":1}\n']);
    assert.equal(sleeps(614), false);
    await idleAgain();
    assert.deepEqual(published(), [next.job]);
  });

  it('a cancel after the go of what was begun publishes nothing', async () => {
    const order = rig.go([rig.script(`sleep ${odd(615)}`)]);
    await rig.begin(order);
    await go(order);
    await until('it runs', () => sleeps(615));
    await rig.say(SUBJECT.cancel, { epoch: 1, job: order.job, attempt: 1, why: 'cancelled' } satisfies Cancel);
    await idleAgain();
    await until('it is gone', () => !sleeps(615));
    const next = rig.go([counted()]);
    await rig.run(next);
    assert.deepEqual(published(), [next.job]);
  });

  it('a prepare of another job ends what was begun, and that job begins', async () => {
    const [first, second] = [rig.go([rig.script(`sleep ${odd(616)}`)]), rig.go([counted()])];
    await rig.begin(first);
    await until('it runs', () => sleeps(616));
    await rig.begin(second);
    assert.equal(sleeps(616), false);
    await until('the second runs', () => runs() === 1);
    await go(second);
    assert.deepEqual(await result(second), ['{"run":1}\n']);
    await idleAgain();
    assert.deepEqual([runs(), published()], [1, [second.job]]);
  });

  it('a repeated prepare does not end what was begun', async () => {
    const order = rig.go([counted('sleep 0.5')]);
    await rig.begin(order);
    await until('it runs', () => runs() === 1);
    await rig.prepare(order);
    await go(order);
    assert.deepEqual(await result(order), ['{"run":1}\n']);
    await idleAgain();
    assert.equal(runs(), 1);
  });

  it('a failure of a begun tool is its result, and it is not run again', async () => {
    const order = rig.go([counted('echo "no such thing" >&2; exit 7')]);
    await rig.begin(order);
    await until('it ran', () => runs() === 1);
    await go(order);
    const { body } = await rig.taken(order.job);
    assert.deepEqual([body.tools[0]?.failure, body.tools[0]?.exitCode], ['failed', 7]);
    await idleAgain();
    assert.equal(runs(), 1);
  });

  const { 'ffprobe 9.0': ffprobe, 'mediainfo 26.10': mediainfo } = outputsOf('picture_and_sound.mkv');
  const printing = (output: unknown, more: Partial<AssignedTool>): AssignedTool =>
    counted(`cat <<'EOF'\n${typeof output === 'string' ? output : JSON.stringify(output)}\nEOF\nexit 0`, more);
  const policies: [string, boolean, Policy['rules'][number]][] = [
    ['an output', false, { name: 'raw', tool: 'ffprobe', path: 'format.format_name', is: 'matroska,webm' }],
    ['the report', true, { name: 'wrapper', field: 'container.format', is: 'matroska' }],
    ['disagreement, of which the caller wants nothing', true, { name: 'agree', disagreement: { 'at-most': 1_000 } }],
  ];
  for (const [what, enabled, rule] of policies) {
    it(`a policy that comes with the go judges ${what} of what was begun`, async () => {
      const order = rig.go(
        [printing(ffprobe, { version: '9.0' }), printing(mediainfo, { name: 'mediainfo', version: '26.10' })],
        { assignment: { report: { enabled, diff: false, prefer: null } } },
      );
      await rig.begin(order);
      await until('both ran', () => runs() === 2);
      const policy = { name: 'house', revision: 7, document: { rules: [rule] } };
      await go({ ...order, assignment: { ...order.assignment, policy } });
      const { body } = await rig.taken(order.job);
      assert.deepEqual(
        [body.policy?.name, body.policy?.revision, body.policy?.outcome],
        ['house', 7, 'pass'],
        JSON.stringify(body.policy),
      );
      assert.equal(body.report?.success, enabled ? true : undefined);
      assert.equal(body.report?.output?.includes('"diff"') ?? false, false);
      await idleAgain();
      assert.equal(runs(), 2);
    });
  }

  it('a tool that waits for the kind of source starts only after the go', async () => {
    const order = rig.go(
      [
        rig.script(`touch ${file('first')}; echo '{}'`),
        rig.script(`touch ${file('waited')}; echo '{"success":true}'`, { name: 'msv' }),
      ],
      { source: `${rig.originUrl}/main.m3u8` },
    );
    await rig.begin(order);
    await until('the other tool ran', () => existsSync(file('first')));
    await heartbeats(4);
    assert.equal(existsSync(file('waited')), false);
    await go(order);
    const { body } = await rig.taken(order.job);
    assert.equal(existsSync(file('waited')), true);
    assert.deepEqual(
      body.tools.map(({ name, success }) => [name, success]),
      [
        ['ffprobe', true],
        ['msv', true],
      ],
    );
  });

  it('a timeline is made only after the go', async () => {
    const tool = rig.script(
      `case "$*" in *packet=stream_index*) touch ${file('packets')}; echo "packet,0,0.0,0.0,1.0,10,K__"; ` +
        `echo stream,0,h264,video ;; *) touch ${file('plain')}; echo '{"streams":[]}' ;; esac`,
    );
    const order = rig.go([tool], { assignment: { timeline: true } });
    await rig.begin(order);
    await until('the tool ran', () => existsSync(file('plain')));
    await heartbeats(4);
    assert.equal(existsSync(file('packets')), false);
    await go(order);
    const { body } = await rig.taken(order.job);
    assert.deepEqual([body.timeline?.success, existsSync(file('packets'))], [true, true]);
  });

  it('a comparison gets no number', async () => {
    const tools = [rig.script("echo '{}'"), rig.script("echo '{}'", { version: '9.0' })];
    for (const assignment of [
      { kind: 'compare' as const },
      { kind: 'compare' as const, other: rig.go([]).assignment.source },
    ])
      assert.equal(await rig.prepare(rig.go(tools, { assignment })), undefined);
  });

  it('a runner whose launcher knows no early start gives no number', async () => {
    const { launcher } = rig;
    rig.launcher = answering(launcher, { arm: async () => undefined });
    try {
      await rig.newAgent();
      const order = rig.go([counted()]);
      assert.equal(await rig.prepare(order), undefined);
      await go(order);
      assert.deepEqual(await result(order), ['{"run":1}\n']);
    } finally {
      rig.launcher = launcher;
    }
  });

  it('a begun tool that the tools container did not survive is out of memory, and the next job begins', async () => {
    // With exec, because only the tool itself dies with the launcher; a container would end the rest.
    const order = rig.go([counted(`exec sleep ${odd(617)}`)]);
    await rig.begin(order);
    await until('it runs', () => sleeps(617));
    await rig.launcherProcess.restart();
    await go(order);
    const { body } = await rig.taken(order.job);
    assert.equal(body.tools[0]?.failure, 'out-of-memory');
    await idleAgain();
    await rig.connected();
    const next = rig.go([counted()]);
    await rig.begin(next);
    await until('the next runs', () => runs() === 2);
    await go(next);
    assert.deepEqual(await result(next), ['{"run":2}\n']);
  });
});
