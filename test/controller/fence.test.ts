/**
 * The last guard of a token's limit: the API server itself refuses an admission of an earlier term
 * (charts/probeyard/templates/fence.yaml).
 */
import assert from 'node:assert/strict';
import { admittedStatus, finishedStatus } from '../../src/controller/leader/job_status.ts';
import { LEASES, PROBE_JOBS, isKubeError } from '../../src/kube/client.ts';
import { render } from '../chart/render.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';
import { gateAt, isAdmission } from './obstacles.ts';

const LEASE = 'probeyard-controller';
const NOW = '2026-01-02T03:04:05Z';

describe('admission fence of the API server', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  const request = (method: 'POST', path: string, body: object) =>
    cluster.kube.request({ method, path: `/apis/admissionregistration.k8s.io/v1/${path}`, body });

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

  /** Takes the lease as a controller does, and waits until the policy applies it: policies lag behind. */
  async function termIs(leaseTransitions: number): Promise<void> {
    await cluster.kube.mergePatch(LEASES, LEASE, { spec: { leaseTransitions } });
    await until(
      'the term is over',
      async () => {
        const name = await newJob();
        const refused = await isRefused(name, leaseTransitions - 1);
        await cluster.kube.delete(PROBE_JOBS, name);
        return refused;
      },
      30_000,
    );
  }

  beforeEach(async () => {
    cluster = await startCluster({ pools: { short: { minReady: 2, maxPods: 2 } } });
    const { kube, namespace } = cluster;
    for (const object of render({}, { namespace, release: namespace }).filter(({ metadata }) =>
      metadata.name.endsWith('-fence'),
    )) {
      const path =
        object.kind === 'ValidatingAdmissionPolicy'
          ? 'validatingadmissionpolicies'
          : 'validatingadmissionpolicybindings';
      await request('POST', path, object);
    }
    await kube.create(LEASES, { metadata: { name: LEASE, namespace }, spec: { leaseTransitions: 1 } });
  });
  // The policies are left in place, each for its own namespace, and end with the API server of this process. Once the
  // last policy with a kind of parameter is deleted, Kubernetes 1.36 stops watching that kind and never starts again
  // (policy_source.go: a shared informer starts only once).
  afterEach(() => cluster.stop());

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

  it('lets a term finish a job that an earlier term admitted', async () => {
    await termIs(3);
    const name = await newJob();
    const { status } = await admit(name, 3);
    await termIs(4);
    const ended = await cluster.kube.mergePatchStatus(
      PROBE_JOBS,
      name,
      finishedStatus(status, { reason: 'Completed', summary: 'done', tools: [], resultPath: '/x' }, NOW),
    );
    assert.deepEqual(
      [ended.status?.admittedBy?.epoch, ended.status?.conditions?.find(({ type }) => type === 'Succeeded')?.status],
      [3, 'True'],
    );
  });

  it('lets every term admit where there is no lease', async () => {
    await termIs(3);
    const name = await newJob();
    await cluster.kube.delete(LEASES, LEASE);
    await until('it is heard of', () =>
      admit(name, 1).then(
        () => true,
        () => false,
      ),
    );
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
    await until('the old leader is about to write', () => gate.arrived.length === 1);
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
