/** Two namespaces that are bound to two accounts, on the installed release: it is upgraded to serve them, and back. */
import assert from 'node:assert/strict';
import { isKubeError, NAMESPACES, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import type { ProbeJobSpec } from '../../src/platform/kube/probe_job.ts';
import { NAMESPACE, cluster, eventually, stateOf, type Cluster } from './fixture.ts';
import { openRelease, type Release } from './helm.ts';

const TEAMS = ['probeyard-team-a', 'probeyard-team-b'] as const;

describe('namespaces of tenants on the cluster', function () {
  this.timeout(500_000);
  let c: Cluster;
  let release: Release;
  let source: string;
  let user: string;
  let tokens: { id: number; token: string }[];
  let accounts: number[];

  /** What the API server refuses it with; empty: it was created. */
  const create = (namespace: string, spec: Partial<ProbeJobSpec> = {}): Promise<string> =>
    c.kube
      .create(PROBE_JOBS, {
        metadata: { name: 'film', namespace },
        spec: { kind: 'file', createdBy: user, source: { url: source }, ...spec },
      })
      .then(
        () => '',
        (error: unknown) => String(error),
      );
  const read = (namespace: string) => c.kube.get(PROBE_JOBS, 'film', { namespace });
  const ended = (namespace: string) =>
    eventually(`${namespace}/film has ended`, 60, async () => {
      const job = await read(namespace);
      return job.status?.completedAt !== undefined && job;
    });
  const clear = (namespace: string) =>
    c.kube.delete(PROBE_JOBS, 'film', { namespace }).catch((error: unknown) => {
      if (!isKubeError(error, 'not-found')) throw error;
    });

  before(async () => {
    c = await cluster();
    release = await openRelease(c.kubeconfig);
    source = `${(await c.origin()).url}/tiny.mp4`;
    user = (await c.kubectl('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).trim();
    tokens = [await c.newToken(1), await c.newToken()];
    accounts = await Promise.all(
      tokens.map(async ({ id }) => Number(await c.sql(`select user_id from tokens where id = ${id}`))),
    );
    for (const name of TEAMS) await c.kube.create(NAMESPACES, { metadata: { name } });
    const bound = TEAMS.flatMap((name, at) => [
      `tenants.namespaces[${at}].name=${name}`,
      `tenants.namespaces[${at}].account=${accounts[at]}`,
    ]);
    await release.upgrade(...bound);
  });
  after(async () => {
    await release?.upgrade();
    await release?.close();
    for (const name of TEAMS) await c.kube.delete(NAMESPACES, name);
    await c.close();
  });
  afterEach(() => Promise.all([...TEAMS, NAMESPACE].map(clear)));

  it('jobs of one name run, and each result is read by a token of its account alone', async () => {
    for (const name of [...TEAMS, NAMESPACE]) assert.equal(await create(name), '');
    for (const [at, name] of TEAMS.entries()) {
      const job = await ended(name);
      assert.equal(stateOf(job), 'Completed', JSON.stringify(job.status));
      const path = job.status?.resultPath ?? '';
      assert.equal((await c.get(path, tokens[at]!.token)).status, 200);
      assert.equal((await c.get(path, tokens[1 - at]!.token)).status, 404);
      assert.equal(
        await c.sql(`select request->'options'->>'created-by' from requests where id = '${job.metadata.uid}'`),
        user,
      );
    }
    assert.equal(stateOf(await ended(NAMESPACE)), 'Completed');
    assert.match(await c.kubectl('-n', TEAMS[0], 'get', 'pj', '-o', 'wide'), new RegExp(`CREATOR[^]*${user}`));
  });

  it('what is forged there is refused, and so is what nobody serves', async () => {
    assert.match(await create(TEAMS[0], { createdBy: 'somebody' }), /spec\.createdBy: must be your user name/);
    assert.match(
      await create(TEAMS[0], { token: { id: 1, user: 1 } }),
      /only the API of Probeyard may set spec\.token/,
    );
    assert.match(await create('default'), /no Probeyard serves the namespace default/);
  });

  it('no pod and no Secret stands beside the jobs', async () => {
    assert.equal(await create(TEAMS[0]), '');
    await ended(TEAMS[0]);
    assert.equal((await c.kubectl('-n', TEAMS[0], 'get', 'pods,secrets', '-o', 'name')).trim(), '');
  });
});
