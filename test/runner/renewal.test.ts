/** An agent as the image runs it, with its launcher and its listener, goes from life to life. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, readlinkSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Heartbeat, type OrderAnswer, SUBJECT } from '../../src/platform/bus/messages.ts';
import { makeRunnerId } from '../../src/platform/bus/runner_id.ts';
import { until } from '../until.ts';
import { Rig } from './agent_rig.ts';
import { buildAgent } from './built_agent.ts';
import { buildListener } from './built_launcher.ts';

describe('agent: renewed in its pod', function () {
  this.timeout(120_000);
  const rig = new Rig();
  let child: ChildProcess;
  let output = '';
  const idOf = (life: number): string => makeRunnerId({ podUid: 'pod-0', life });
  const pid = (): number => child.pid ?? 0;

  before(async () => {
    await rig.start();
    rig.launcher.close(); // the process connects in its place
    rig.uid = idOf(0);
    writeFileSync(join(rig.directory, 'token'), 'any');
    rig.serve = (_request, response) => response.end('audio');
    const { program } = await buildAgent();
    child = spawn(await buildListener(), ['65536', process.execPath, program], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: '/usr/bin:/bin', ...rig.environment() },
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text: Buffer) => {
        output += text;
      });
    await idle(0);
  });
  after(async () => {
    child?.kill('SIGKILL');
    await rig.stop();
  });

  const idle = async (life: number): Promise<Heartbeat> => {
    rig.uid = idOf(life);
    const isIt = ({ uid, phase }: Heartbeat) => uid === idOf(life) && phase === 'idle';
    return until(`an idle runner in life ${life}: ${output.slice(-500)}`, () => rig.beats.findLast(isIt), 20_000);
  };
  const renew = (epoch = 1): Promise<OrderAnswer> => rig.say(SUBJECT.renew, { epoch });
  const descriptors = (): string[] =>
    readdirSync(`/proc/${pid()}/fd`)
      .map((fd) => readlinkSync(`/proc/${pid()}/fd/${fd}`).replace(/\d+/g, 'n'))
      .sort();
  const variable = (name: string): string | undefined =>
    readFileSync(`/proc/${pid()}/environ`, 'utf8')
      .split('\0')
      .find((entry) => entry.startsWith(`${name}=`))
      ?.slice(name.length + 1);
  const run = async (tenant: string, script = 'echo "{}"') => {
    const last = () => rig.beats.findLast(({ uid }) => uid === rig.uid);
    const before = last()?.jobsDone ?? 0;
    const taken = await rig.run(rig.go([rig.script(script)], { tenant }));
    await until('the job is done', () => last()?.jobsDone === before + 1 && last()?.phase === 'idle');
    return taken;
  };

  it('serves another tenant after it, under another id, and counts the jobs of all lives', async () => {
    const first = await run('a:1');
    assert.equal(first.header.podUid, idOf(0));
    assert.deepEqual(await rig.say(SUBJECT.go, rig.go([rig.script('echo "{}"')], { tenant: 'a:2' })), {
      ok: false,
      why: 'tenant',
    });
    const maps = readFileSync(`/proc/${pid()}/maps`, 'utf8');
    const begun = performance.now();
    assert.deepEqual(await renew(), { ok: true });
    const beat = await idle(1);
    console.log(`      idle again after ${(performance.now() - begun).toFixed(0)} ms`);
    assert.deepEqual([beat.jobsDone, beat.tenant], [1, undefined]);
    assert.notEqual(readFileSync(`/proc/${pid()}/maps`, 'utf8'), maps);
    const second = await run('a:2');
    assert.equal(second.header.podUid, idOf(1));
    assert.equal(second.body.tools[0]?.success, true);
    assert.equal(child.exitCode, null);
  });

  it('hears no order for its former life', async () => {
    rig.uid = idOf(0);
    await assert.rejects(rig.say(SUBJECT.go, rig.go([rig.script('echo "{}"')], { tenant: 'a:2' })), {
      code: 'no-responders',
    });
    rig.uid = idOf(1);
  });

  it('keeps no descriptor, and a socket of the listener for its tools', async () => {
    const before = descriptors();
    const socket = variable('PY_SOURCE_FD');
    assert.deepEqual(await renew(), { ok: true });
    await idle(2);
    await until(`the descriptors are ${before.join(' ')}`, () => descriptors().join() === before.join());
    assert.equal(variable('PY_SOURCE_FD'), socket);
    assert.deepEqual([variable('PY_LIFE'), variable('PY_JOBS_BEFORE')], ['2', '2']);
  });

  it('refuses while a job runs, and afterwards accepts', async () => {
    const order = rig.go([rig.script('sleep 0.5; echo "{}"')], { tenant: 'a:3' });
    assert.deepEqual(await rig.say(SUBJECT.go, order), { ok: true });
    assert.deepEqual(await renew(), { ok: false, why: 'busy' });
    assert.equal((await rig.taken(order.job)).body.tools[0]?.success, true);
    await until('the result is collected', async () => (await renew()).ok);
    await idle(3);
  });

  it('refuses the order of an older leader', async () => {
    await run('a:4');
    assert.deepEqual(await renew(0), { ok: false, why: 'epoch' });
  });

  it('writes no source to its log', () => assert.ok(!output.includes(rig.originUrl)));
});
