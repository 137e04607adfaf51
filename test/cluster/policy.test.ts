/**
 * A policy from end to end: saved by the API, judged in a runner, and shown to the caller, in the log and in kubectl.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PolicyResult } from '../../src/media/policy/schema.ts';
import { NAMESPACE, cluster, eventually, jobOf, type Cluster } from './fixture.ts';

const NAME = 'cluster-policy';

describe('a policy', function () {
  this.timeout(180_000);
  let c: Cluster;
  let folder: string;
  let source: string;
  before(async () => {
    c = await cluster();
    folder = await mkdtemp(join(tmpdir(), 'probeyard-'));
    source = `${(await c.origin()).url}/tiny.mp4`;
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
    await fetch(`${c.url}/v1/policy/${NAME}`, { method: 'DELETE', headers: { Authorization: `Bearer ${c.token}` } });
    await c.close();
  });

  const put = async (rules: object[]): Promise<number> => {
    const response = await fetch(`${c.url}/v1/policy/${NAME}`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${c.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ rules }),
    });
    assert.equal(response.status, 200, await response.clone().text());
    return ((await response.json()) as { revision: number }).revision;
  };
  const create = async (name: string, kind: string, spec: object): Promise<string> => {
    const file = join(folder, `${name}.json`);
    const metadata = { name, namespace: NAMESPACE };
    await writeFile(file, JSON.stringify({ apiVersion: 'probeyard.dev/v1alpha1', kind, metadata, spec }));
    return c.kubectl('create', '-f', file);
  };

  for (const [outcome, is] of [
    ['pass', 'mp4'],
    ['fail', 'matroska'],
  ] as const)
    it(`of the account: ${outcome} in the envelope, the status of the job and the log`, async () => {
      const revision = await put([{ name: 'wrapper', field: 'container.format', is }]);
      const { status, json, headers } = await c.probe({ url: source, policy: NAME, only: 'ffprobe' });
      assert.equal(status, 200, JSON.stringify(json));
      const verdict = json['policy'] as PolicyResult;
      assert.deepEqual([verdict.name, verdict.revision, verdict.outcome], [NAME, revision, outcome]);
      assert.equal(headers.get('x-policy-outcome'), outcome);
      const id = headers.get('x-request-id')!;
      assert.equal(await c.sql(`select policy_outcome from requests where id = '${id}'`), outcome);
      const job = await eventually('the status says so', 30, async () => {
        const found = await jobOf(c.kube, id);
        return found.status?.policy && found;
      });
      assert.deepEqual(job.status?.policy, {
        name: NAME,
        revision,
        outcome,
        ...(outcome === 'fail' ? { failed: ['wrapper'] } : {}),
      });
      assert.match(await c.kubectl('-n', NAMESPACE, 'get', 'pj', id), new RegExp(`POLICY[^]*\\b${outcome}\\b`));
    });

  it('of the chart is valid, and judges a job created with kubectl', async () => {
    const listed = await c.kubectl('-n', NAMESPACE, 'get', 'ppol', '-o', 'name');
    assert.equal(listed.trim().split('\n').length, 6, listed);
    const filter = 'jsonpath={.items[?(@.status.conditions[0].status!="True")].metadata.name}';
    const invalid = await c.kubectl('-n', NAMESPACE, 'get', 'ppol', '-o', filter);
    assert.equal(invalid, '');
    await create('judged-by-hand', 'ProbeJob', { source: { url: source }, policy: { name: 'shared/web-mp4' } });
    const job = await eventually('it ended', 60, async () => {
      const found = await jobOf(c.kube, 'judged-by-hand');
      return found.status?.completedAt !== undefined && found;
    });
    assert.equal(job.status?.policy?.name, 'shared/web-mp4');
    assert.ok(['pass', 'warn', 'fail'].includes(job.status.policy.outcome), JSON.stringify(job.status));
    await c.kubectl('-n', NAMESPACE, 'delete', 'pj', 'judged-by-hand');
  });

  it('by digest in a job created with kubectl is refused, because only the API may use one', async () => {
    const spec = { source: { url: source }, policy: { name: NAME, digest: 'a'.repeat(64) } };
    await assert.rejects(create('with-digest', 'ProbeJob', spec), (error: Error & { stderr?: string }) => {
      assert.match(error.stderr ?? '', /only the API of Probeyard may set spec\.policy\.digest/);
      return true;
    });
  });
});
