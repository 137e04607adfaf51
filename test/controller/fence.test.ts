/**
 * The last guard of a token's limit: the API server itself refuses an admission of an earlier term
 * (charts/probeyard/templates/fence.yaml).
 */
import assert from 'node:assert/strict';
import { fenceCheck, highestEpoch, readPools } from '../../src/service/controller/leader/fence.ts';
import { admittedStatus, finishedStatus } from '../../src/service/controller/leader/job_status.ts';
import {
  PROBE_JOBS,
  PROBE_POOLS,
  isKubeError,
  isPolicyNotReady,
  type KubeClient,
} from '../../src/platform/kube/client.ts';
import { render } from '../chart/render.ts';
import { until } from '../until.ts';
import { POOL as POOL_SPEC, startCluster, type Cluster } from './cluster_parts.ts';
import { gateAt, gateAtCreate, isAdmission } from './obstacles.ts';

const POOL = 'short';
const NOW = '2026-01-02T03:04:05Z';

describe('admission fence of the API server', function () {
  this.timeout(120_000);
  let cluster: Cluster;
  const request = (method: 'POST' | 'DELETE', path: string, body?: object) =>
    cluster.kube.request({ method, path: `/apis/admissionregistration.k8s.io/v1/${path}`, ...(body ? { body } : {}) });

  const fence = () =>
    render({}, { namespace: cluster.namespace, release: cluster.namespace })
      .filter(({ metadata }) => metadata.name.endsWith('-fence'))
      .map((object) => ({
        object,
        path:
          object.kind === 'ValidatingAdmissionPolicy'
            ? 'validatingadmissionpolicies'
            : 'validatingadmissionpolicybindings',
      }));
  const install = async () => {
    for (const { path, object } of fence()) await request('POST', path, object);
  };
  const uninstall = async () => {
    for (const { path, object } of fence())
      await request('DELETE', `${path}/${object.metadata.name}`).catch((error: unknown) => {
        if (!isKubeError(error, 'not-found')) throw error;
      });
  };

  const admit = async (name: string, epoch: number, attempt = 1) => {
    const job = await cluster.kube.get(PROBE_JOBS, name);
    const status = admittedStatus(
      job.status,
      {
        holder: `of-${epoch}`,
        epoch,
        token: 1,
        account: 1,
        runner: { pod: 'p', uid: 'u' },
        attempt,
        queueTimeMs: 1,
        resultPath: '/x',
        tools: [{ name: 'ffprobe', version: '7.0' }],
      },
      NOW,
    );
    return cluster.kube.mergePatchStatus(PROBE_JOBS, name, status);
  };
  const newJob = async (): Promise<string> => (await cluster.submit({ open: false })).id;
  const isRefused = (name: string, epoch: number) =>
    admit(name, epoch).then(
      () => false,
      (error: unknown) => isKubeError(error, 'forbidden'),
    );

  /** Names the term as a controller does, and waits until the policy applies it: policies lag behind. */
  async function termIs(epoch: number): Promise<void> {
    await cluster.kube.mergePatchStatus(PROBE_POOLS, POOL, { epoch });
    await until(
      'the term is over',
      async () => {
        const name = await newJob();
        const refused = await isRefused(name, epoch - 1);
        await cluster.kube.delete(PROBE_JOBS, name);
        return refused;
      },
      40_000,
    );
  }

  beforeEach(async () => {
    cluster = await startCluster({ pools: { short: { minReady: 2, maxPods: 2 } } });
    await install();
  });
  // The last policy with this kind of parameter: each test then starts without any, like a new installation.
  afterEach(async () => {
    await uninstall();
    await cluster.stop();
  });

  it('applies after an uninstall and a new installation', async () => {
    await termIs(3);
    await uninstall();
    const name = await newJob();
    await until('the policy is gone', async () => !(await isRefused(name, 2)), 30_000);
    await install();
    await termIs(5);
    const other = await newJob();
    assert.equal(await isRefused(other, 4), true);
    assert.equal((await admit(other, 5)).status?.admittedBy?.epoch, 5);
  });

  it('refuses a job that is created with the admission of an earlier term', async () => {
    await termIs(3);
    const { spec } = await cluster.kube.get(PROBE_JOBS, await newJob());
    const created = (epoch: number) =>
      cluster.kube.create(PROBE_JOBS, {
        metadata: { name: crypto.randomUUID() },
        spec,
        status: { attempts: 1, admittedBy: { holder: `of-${epoch}`, epoch, token: 1, account: 1 } },
      });
    await assert.rejects(created(2), { code: 'forbidden', message: /another controller leads since/ });
    for (const epoch of [3, 4]) assert.equal((await created(epoch)).status?.admittedBy?.epoch, epoch);
  });

  it('lets the current term admit and refuses earlier terms', async () => {
    await termIs(3);
    const [one, other] = [await newJob(), await newJob()];
    assert.equal((await admit(one, 3)).status?.admittedBy?.epoch, 3);
    await assert.rejects(admit(other, 2), {
      code: 'forbidden',
      message: /another controller leads since: this is term 3, the admission is of term 2/,
    });
    assert.equal((await cluster.kube.get(PROBE_JOBS, other)).status?.admittedBy, undefined);
    // A leader of a term that the policy has not seen yet.
    assert.equal((await admit(other, 4)).status?.admittedBy?.epoch, 4);
    await termIs(5);
    await assert.rejects(admit(one, 3, 2), { code: 'forbidden' });
    assert.equal((await admit(one, 5, 2)).status?.attempts, 2);
  });

  it('is tried by the leader, which writes nothing and knows when it is missing', async () => {
    await termIs(3);
    const name = await newJob();
    const lines: string[] = [];
    const say = (_: object, line: string) => lines.push(line);
    const check = fenceCheck({
      kube: cluster.kube,
      log: { warn: say, info: say } as never,
      job: () => ({ metadata: { name } }),
      epoch: 3,
      installed: true,
    });
    const is = (expected: boolean) =>
      until(
        `missing: ${expected}`,
        async () => {
          await check.run();
          return check.missing() === expected;
        },
        30_000,
      );
    assert.equal(check.missing(), undefined);
    await check.run();
    assert.equal(check.missing(), false);
    await uninstall();
    await is(true);
    assert.equal((await cluster.kube.get(PROBE_JOBS, name)).status?.admittedBy, undefined);
    await install();
    await is(false);
    assert.deepEqual(lines, [
      'the admission policy of the chart is missing: late admissions are not refused',
      'the admission policy refuses late admissions again',
    ]);
    check.tooOld();
    assert.equal(check.missing(), true);
  });

  it('counts as missing from the start where the chart was told not to install it', () => {
    const lines: string[] = [];
    const { kube } = cluster;
    const log = { warn: (_: object, line: string) => lines.push(line) } as never;
    const check = fenceCheck({ kube, log, job: () => undefined, epoch: 3, installed: false });
    assert.equal(check.missing(), true);
    assert.deepEqual(lines, ['admissionPolicy.enabled is off: late admissions are not refused']);
  });

  it('that cannot be evaluated yet refuses, and the leader waits for it without failing a job', async () => {
    const { path, object } = fence()[0]!;
    const tried = await newJob();
    const { id } = await cluster.submit();
    await request('DELETE', `${path}/${object.metadata.name}`);
    const unknown = structuredClone(object);
    unknown['spec'].paramKind.kind = 'ProbeNothing';
    await request('POST', path, unknown);
    const says = (text: RegExp) => (error: unknown) => text.test((error as Error).message);
    await until('it refuses', () => admit(tried, 9).then(() => false, says(/failed to configure policy/)), 40_000);
    await assert.rejects(newJob(), isPolicyNotReady);
    const { log } = await cluster.controller({ epoch: 9 });
    // More often than an admission may be rejected for good.
    const NOT_READY = 'the API server cannot evaluate an admission policy yet, will retry';
    await until('it was tried eight times', () => log.filter(({ msg }) => msg === NOT_READY).length >= 8, 30_000);
    await request('DELETE', `${path}/${object.metadata.name}`);
    await request('POST', path, object);
    await cluster.ended(id);
    assert.equal((await cluster.record(id)).state, 'success');
  });

  it('lets a term finish a job that an earlier term admitted', async () => {
    await termIs(3);
    const name = await newJob();
    const { status } = await admit(name, 3);
    await termIs(4);
    const ended = await cluster.kube.mergePatchStatus(
      PROBE_JOBS,
      name,
      finishedStatus(status, { reason: 'Completed', summary: 'done', tools: [], resultPath: '/x', batch: '1-1' }, NOW),
    );
    assert.deepEqual(
      [ended.status?.admittedBy?.epoch, ended.status?.conditions?.find(({ type }) => type === 'Succeeded')?.status],
      [3, 'True'],
    );
  });

  it('lets every term admit without a pool', async () => {
    await termIs(3);
    const name = await newJob();
    await cluster.kube.delete(PROBE_POOLS, POOL);
    await until('the admission is accepted without a pool', () =>
      admit(name, 1).then(
        () => true,
        () => false,
      ),
    );
  });

  it('is raised by a leader before it admits, and never lowered', async () => {
    const { kube, controller } = cluster;
    const epoch = async () => (await kube.get(PROBE_POOLS, POOL)).status?.epoch;
    await kube.create(PROBE_POOLS, { metadata: { name: 'other' }, spec: { ...POOL_SPEC, serves: { kinds: ['msv'] } } });
    const order: string[] = [];
    const writes: KubeClient = {
      ...kube,
      mergePatchStatus: (type, name, status, options) => {
        const { epoch: of, admittedBy } = status as { epoch?: number; admittedBy?: unknown };
        if (type.kind === 'ProbePool' && of === 7) order.push(`raised in ${name}`);
        if (admittedBy) order.push('admitted');
        return kube.mergePatchStatus(type, name, status, options);
      },
    };
    const { id } = await cluster.submit();
    await controller({ epoch: 7, writes });
    await until('the job was admitted', () => cluster.job(id)?.status?.admittedBy?.epoch === 7);
    assert.deepEqual(new Set(order.slice(0, 2)), new Set([`raised in ${POOL}`, 'raised in other']));
    assert.equal(await epoch(), 7);
    await assert.rejects(kube.mergePatchStatus(PROBE_POOLS, POOL, { epoch: 6 }), {
      code: 'invalid',
      message: /a later term has begun/,
    });
    assert.equal(highestEpoch(await readPools({ kube, namespace: cluster.namespace })), 7);
  });

  it('refuses a job that a deposed leader creates late, and the job runs in the next term', async () => {
    await termIs(3);
    const { submit, create, controller, kube, ended, job, runners } = cluster;
    const gate = gateAtCreate(kube, 'before');
    const old = await controller({ epoch: 3, writes: gate.kube });
    await cluster.ready(2);
    const told = await submit({ announce: true, create: false });
    await until('the create of the old leader is held back', () => gate.arrived.length === 1);
    old.lease.ageMs = 60_000;
    await termIs(4);
    gate.open();
    await until('it was refused', () =>
      old.log.some(({ msg, job: name }) => msg === 'cannot create a job with its admission' && name === told.id),
    );
    assert.equal(job(told.id), undefined);
    await controller({ epoch: 4 });
    await create(told);
    await ended(told.id);
    await until('it is Completed', () => cluster.reason(told.id) === 'Completed');
    assert.equal(job(told.id)?.status?.admittedBy?.epoch, 4);
    assert.equal(runners.began.filter((one) => one.job === told.id).length, 1);
  });

  it('keeps a token within its limit when a leader pauses between checking its lease and writing', async () => {
    await termIs(3);
    const {
      submit,
      controller,
      runners,
      newToken,
      most,
      kube,
      ended,
      servers: { stored },
    } = cluster;
    runners.behaviour.go = () => 'hold';
    const token = await newToken(2);
    const admitted: string[] = [];
    const gate = gateAt(kube, (status, name) => isAdmission(status) && admitted.push(name) > 1, 'before');
    const old = await controller({ epoch: 3, writes: gate.kube });
    const first = await submit({ token });
    await until('it runs', () => runners.of(first.id));
    const second = await submit({ token });
    await until('the write of the old leader is held back', () => gate.arrived.length === 1);
    old.lease.ageMs = 60_000;
    await stored.sql('update tokens set concurrency = 1 where id = $1', [token]);
    await termIs(4);
    gate.open();
    await until('it was refused', () =>
      old.log.some(({ msg, job }) => msg === 'the API server rejected an admission' && job === second.id),
    );
    // Not earlier: it marks jobs that wait for a second, and the late write would then fail as a conflict.
    await controller({ epoch: 4 });
    assert.equal(cluster.job(second.id)?.status?.admittedBy, undefined);
    await runners.of(first.id)!.finish();
    await until('the second runs', () => runners.of(second.id));
    await runners.of(second.id)!.finish();
    await ended(first.id, second.id);
    assert.equal(cluster.job(second.id)?.status?.admittedBy?.epoch, 4);
    assert.equal(most(token), 1);
  });
});
