import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { NAMESPACES, PROBE_BATCHES, PROBE_JOBS, PROBE_TOOLS } from '../../../src/platform/kube/client.ts';
import { conditionOf } from '../../../src/platform/kube/conditions.ts';
import type { ProbeBatch, ProbeBatchSpec } from '../../../src/platform/kube/probe_batch.ts';
import { BatchObjects } from '../../../src/service/api/batch/batch_objects.ts';
import type { ApiError } from '../../../src/service/api/errors.ts';
import { uuidv7 } from '../../../src/platform/store/uuid.ts';
import { startOrigin, type Origin } from '../../source/origin.ts';
import { testApiServer } from '../../kube/apiserver.ts';
import { clientThatGets, refuse } from '../../kube/refusal.ts';
import { startStore } from '../../store/fixture.ts';
import { until } from '../../until.ts';
import { aTool } from '../a_tool.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { batchesOf, ONLY, requestsOf } from './fixture.ts';

/** Bound to an account that is made afterwards. */
const TENANT = `team-${randomUUID().slice(0, 8)}`;
const ACCOUNT = 777_001;
/** Each of an account of its own, which reads one list at a time. */
const SLOW = [777_002, 777_003, 777_004, 777_005].map((account) => ({ name: `${TENANT}-${account}`, account }));

describe('ProbeBatches', function () {
  this.timeout(120_000);
  /** Answers of a host of lists. */
  const held: ServerResponse[] = [];
  let origin: Origin;
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  let made = 0;

  before(async () => {
    origin = await startOrigin((_request, response) => void held.push(response));
    api = await startApi({
      tenantNamespaces: [{ name: TENANT, account: ACCOUNT }, ...SLOW],
      allowSources: [{ cidr: '127.0.0.1/32', port: origin.port }],
    });
    batches = batchesOf(api);
    await api.stored.makeDefault(api.tokenId);
  });
  after(async () => {
    await api.stop();
    await origin.close();
  });
  // What is left would take the room of the account.
  afterEach(async () => {
    for (const namespace of [api.namespace, TENANT, ...SLOW.map(({ name }) => name)]) {
      const { items } = await api.kube.list(PROBE_BATCHES, { namespace });
      for (const { metadata } of items) await api.kube.delete(PROBE_BATCHES, metadata.name, { namespace });
    }
    for (const list of held.splice(0)) list.destroy();
    await until(
      'their batches have ended',
      async () => {
        const running = await api.stored.sql<{ request_id: string }>(
          `select request_id from batch_items where state = 'running'`,
        );
        for (const { request_id: id } of running)
          await batches.failure(id, { status: 499, reason: 'Cancelled', error: 'the request was cancelled' });
        const [left] = await api.stored.sql<{ count: string }>(
          `select (select count(*) from followed_objects o join batches b on b.id = o.made_id)
            + (select count(*) from batches where state <> 'ended') count`,
        );
        return Number(left!.count) === 0;
      },
      30_000,
    );
  });

  const addresses = (host: string, count: number): { url: string }[] =>
    Array.from({ length: count }, (_, n) => ({ url: `https://${host}/${n}.mp4` }));

  async function create(request: object, spec: Partial<ProbeBatchSpec> = {}, namespace = api.namespace) {
    const name = `pb-${++made}`;
    await api.kube.create(PROBE_BATCHES, {
      metadata: { name, namespace },
      spec: { ...spec, request: { probe: ONLY, ...request } },
    });
    return name;
  }
  const read = (name: string, namespace = api.namespace): Promise<ProbeBatch> =>
    api.kube.get(PROBE_BATCHES, name, { namespace });
  const patch = (name: string, spec: object): Promise<unknown> =>
    api.kube.mergePatch(PROBE_BATCHES, name, { spec }, { namespace: api.namespace });
  async function untilState(name: string, state: string, namespace = api.namespace): Promise<ProbeBatch> {
    let object = await read(name, namespace);
    await until(
      `the object is ${state}`,
      async () => (object = await read(name, namespace)).status?.state === state,
      30_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(object.status)}`);
    });
    return object;
  }
  const rows = (name: string) =>
    api.stored.sql<{ id: string; state: string; reason: string | null }>(
      `select b.id, b.state, b.reason from batches b join followed_objects o on o.made_id = b.id where o.name = $1`,
      [name],
    );
  /** With a token. */
  async function makeAccount(account: number): Promise<void> {
    const { id: token } = await api.newToken();
    await api.stored.sql(
      `insert into users (id, email, status, role, permissions, requests_per_minute) overriding system value
        values ($1, $2, 'active', 'user', array['read:media', 'write:media'], 1000000)`,
      [account, `${account}@batch.test`],
    );
    await api.stored.sql('update tokens set user_id = $2 where id = $1', [token, account]);
  }
  const succeeded = ({ status }: ProbeBatch) => conditionOf(status, 'Succeeded');
  const endAll = (id: string, host: string) => batches.run(id, host, (job) => batches.success(job.metadata.name));

  it('created: the batch runs, and the status follows it to its end', async () => {
    const name = await create({ name: 'library', items: addresses('created.example', 2) });
    const running = await untilState(name, 'Running');
    assert.deepEqual(
      [running.status?.total, running.status?.done, running.status?.observedGeneration],
      [2, 0, running.metadata.generation],
    );
    assert.equal(succeeded(running)?.status, 'Unknown');
    await endAll(running.status!.id!, 'created.example');
    const { status } = await untilState(name, 'Completed');
    assert.deepEqual([status?.done, status?.failed, status?.progress], [2, 0, 100]);
    assert.equal(conditionOf(status, 'Succeeded')?.status, 'True');
    assert.ok(status?.completedAt);
    assert.equal((await batches.read(status.id!)).state, 'ended');
  });

  it('suspended: created so, it has no batch; later, its batch is paused, and goes on', async () => {
    const name = await create({ items: addresses('suspended.example', 1) }, { suspend: true });
    await untilState(name, 'Suspended');
    assert.deepEqual(await rows(name), []);
    await patch(name, { suspend: false });
    const { status } = await untilState(name, 'Running');
    await patch(name, { suspend: true });
    const suspended = await untilState(name, 'Suspended');
    assert.equal(conditionOf(suspended.status, 'Suspended')?.status, 'True');
    assert.equal((await rows(name))[0]?.state, 'paused');
    await patch(name, { suspend: false });
    await untilState(name, 'Running');
    await endAll(status!.id!, 'suspended.example');
    await untilState(name, 'Completed');
  });

  it('stopped by a budget: it goes on when it was suspended meanwhile', async () => {
    const name = await create({ items: addresses('budget.example', 2), max_requests: 1, concurrency: 1 });
    const { status } = await untilState(name, 'Running');
    await until('a job', async () => (await batches.jobs('budget.example')).length === 1);
    for (const job of await batches.jobs('budget.example')) for (const id of requestsOf(job)) await batches.success(id);
    const stopped = await untilState(name, 'Stopped');
    assert.equal(succeeded(stopped)?.reason, 'RequestBudget');
    assert.match(succeeded(stopped)!.message, /max_requests is used up/);
    await api.stored.sql('update batches set max_requests = null where id = $1', [status!.id]);
    await patch(name, { suspend: true });
    await until('it is seen', async () => conditionOf((await read(name)).status, 'Suspended')?.status === 'True');
    await patch(name, { suspend: false });
    await untilState(name, 'Running');
    await endAll(status!.id!, 'budget.example');
  });

  it('deleted: its batch is cancelled, also if it goes while no replica runs', async () => {
    const name = await create({ items: addresses('deleted.example', 3) });
    await untilState(name, 'Running');
    await api.kube.delete(PROBE_BATCHES, name, { namespace: api.namespace });
    await until('the batch is cancelled', async () => (await rows(name)).length === 0);
    const [batch] = (
      await batches.call('').then((answer) => answer.json() as Promise<{ batches: { reason: string }[] }>)
    ).batches;
    assert.equal(batch?.reason, 'Cancelled');
    const unseen = {
      kind: 'ProbeBatch' as const,
      uid: 'f0f7f4e8-0000-4000-8000-000000000001',
      namespace: api.namespace,
      name: 'unseen',
    };
    const left = await batches.create({ items: ['https://unseen.example/a.mp4'] });
    await api.stored.store.idOfObject(unseen, left.id);
    // As one that is being created when its object goes.
    const young = { ...unseen, uid: 'f0f7f4e8-0000-4000-8000-000000000002' };
    const { id } = api.stored.store.newRequest();
    await api.stored.store.idOfObject(young, id);
    const again = new BatchObjects(api.wired.deps, api.kube, { leads: true });
    await until(
      'the batch is cancelled',
      async () => (await api.stored.store.readBatch(left.id))?.reason === 'Cancelled',
    );
    await until('its row is gone', async () => {
      const kept = await api.stored.store.objectsBeside('ProbeBatch', { uids: [], limit: 100 });
      return !kept.some(({ uid }) => uid === unseen.uid);
    });
    await again.stop();
    assert.equal(await api.stored.store.idOfObject(young, left.id), id);
  });

  it('deleted, and kept by a finalizer: its batch is cancelled at once', async () => {
    const name = await create({ items: addresses('kept.example', 1) });
    await untilState(name, 'Running');
    const keep = (finalizers: string[]) =>
      api.kube.mergePatch(PROBE_BATCHES, name, { metadata: { finalizers } }, { namespace: api.namespace });
    await keep(['example.com/keep']);
    await api.kube.delete(PROBE_BATCHES, name, { namespace: api.namespace });
    await untilState(name, 'Cancelling');
    await keep([]);
  });

  it('deleted during a later try of its creation: its batch is cancelled', async () => {
    const name = await create({ items_url: `${origin.url}/list.txt` }, { suspend: true });
    const uid = (await read(name)).metadata.uid!;
    const id = uuidv7(api.stored.store.clock.now() - 3_600_000);
    await api.stored.store.idOfObject({ kind: 'ProbeBatch', uid, namespace: api.namespace, name }, id);
    await patch(name, { suspend: false });
    await until('its list is read', () => held.length === 1);
    await api.kube.delete(PROBE_BATCHES, name, { namespace: api.namespace });
    // A later object is seen: so is that this one is gone.
    await untilState(await create({ items: addresses('after.example', 1) }, { suspend: true }), 'Suspended');
    held[0]!.end('https://late.example/a.mp4\n');
    await until('it is cancelled', async () => (await api.stored.store.readBatch(id))?.reason === 'Cancelled');
  });

  it('invalid request: the condition says why, and it is not tried again', async () => {
    const name = await create({ items: addresses('invalid.example', 1), probe: { ffprobe: { version: '99' } } });
    const object = await untilState(name, 'Refused');
    assert.equal(succeeded(object)?.reason, 'InvalidRequest');
    assert.match(succeeded(object)!.message, /^spec\.request: probe\.ffprobe\.version: /);
    await patch(name, { suspend: true });
    await patch(name, { suspend: false });
    await until('it is seen', async () => (await read(name)).status?.observedGeneration === 3);
    assert.equal((await read(name)).status?.state, 'Refused');
    assert.deepEqual(await rows(name), []);
  });

  it('a list that cannot be read is waited for: its host may be away', async () => {
    const before = held.length;
    const name = await create({ items_url: `${origin.url}/away.txt` });
    await until('its list is asked for', () => held.length > before);
    held.at(-1)!.writeHead(503).end();
    await until('it says so', async () => succeeded(await read(name))?.reason === 'ListUnreadable');
    const object = await read(name);
    assert.equal(object.status?.state, 'Waiting');
    assert.match(succeeded(object)!.message, /^spec\.request: items_url: .*; it is tried again$/);
    assert.deepEqual(await rows(name), []);
  });

  it('a version whose image is being tried: it waits for it', async () => {
    const { spec, status } = aTool('ffprobe', '8.7', { available: null });
    await api.kube.create(PROBE_TOOLS, { metadata: { name: 'ffprobe-8.7', namespace: api.namespace }, spec });
    await api.kube.mergePatchStatus(PROBE_TOOLS, 'ffprobe-8.7', status!, { namespace: api.namespace });
    const refusal = (): unknown => {
      try {
        return api.wired.deps.catalog().resolve('ffprobe', '8.7');
      } catch (error) {
        return error;
      }
    };
    await until('the API sees it', () => (refusal() as Partial<ApiError>).status === 503);
    const name = await create({
      items: addresses('tried.example', 1),
      probe: { ...ONLY, ffprobe: { version: '8.7' } },
    });
    await until('it says so', async () => succeeded(await read(name))?.reason === 'Unavailable');
    const object = await read(name);
    assert.equal(object.status?.state, 'Waiting');
    assert.match(succeeded(object)!.message, /^ffprobe\.version: the image of "8\.7" is being tried/);
  });

  it('a tool of which no version is ready: it waits for one', async () => {
    const name = await create({ items: addresses('unready.example', 1), probe: { only: 'qc' } });
    await until('it says so', async () => succeeded(await read(name))?.reason === 'Unavailable');
    assert.match(succeeded(await read(name))!.message, /qc: no version is ready/);
  });

  it('as many batches as an account may have: it waits for room', async () => {
    await api.stored.sql(
      `insert into batches
          (id, created_at, token_id, user_id, template, items, concurrency, rate, per_host, tries, state)
        select gen_random_uuid(), now(), $1, $2, '{"fields": {}}', 1, 1, 1, 1, 1, 'paused' from generate_series(1, 20)`,
      [api.tokenId, api.userId],
    );
    const name = await create({ items: addresses('full.example', 1) });
    await until('it says so', async () => succeeded(await read(name))?.reason === 'TooManyBatches');
    await api.stored.sql(`delete from batches where concurrency = 1 and rate = 1 and per_host = 1 and tries = 1`);
    await untilState(name, 'Running');
  });

  it('killed between the creation and the status, and two replicas: there is one batch', async () => {
    const other = new BatchObjects(api.wired.deps, api.kube, { leads: true });
    const names = await Promise.all(
      Array.from({ length: 4 }, (_, n) => create({ items: addresses(`twice-${n}.example`, 1) })),
    );
    for (const name of names) await untilState(name, 'Running');
    for (const name of names) assert.equal((await rows(name)).length, 1);
    await other.stop();
    const { status, metadata } = await read(names[0]!);
    await api.kube.mergePatchStatus(
      PROBE_BATCHES,
      metadata.name,
      { state: 'Waiting', conditions: [], id: null, observedGeneration: null },
      { namespace: api.namespace },
    );
    assert.equal((await untilState(names[0]!, 'Running')).status?.id, status?.id);
    const [{ count }] = (await api.stored.sql<{ count: string }>(
      `select count(*) from batches b join batch_items i on i.batch_id = b.id where i.display like '%twice-%'`,
    )) as [{ count: string }];
    assert.equal(Number(count), 4);
  });

  it('a status that others write is corrected, and cannot be given at the creation', async () => {
    const name = await create({ items: addresses('forged.example', 1) });
    const { status } = await untilState(name, 'Running');
    const forged = { state: 'Completed', id: 'f0f7f4e8-0000-4000-8000-000000000009', done: 7 };
    await api.kube.mergePatchStatus(PROBE_BATCHES, name, forged, { namespace: api.namespace });
    const after = await untilState(name, 'Running');
    assert.deepEqual([after.status?.id, after.status?.done], [status?.id, 0]);
  });

  it('ttlSecondsAfterFinished: the object goes, and the batch stays in the record', async () => {
    const name = await create({ items: addresses('ttl.example', 1) }, { ttlSecondsAfterFinished: 0 });
    const { status } = await untilState(name, 'Running');
    await endAll(status!.id!, 'ttl.example');
    await until('it is deleted', async () => {
      const { items } = await api.kube.list(PROBE_BATCHES, { namespace: api.namespace });
      return !items.some(({ metadata }) => metadata.name === name);
    });
    assert.equal((await batches.read(status!.id!)).reason, 'Completed');
  });

  it('whose deletion the API server refuses: it is tried again later, and the one beside it goes', async () => {
    const refused = await create({ items: addresses('kept.example', 1) }, { ttlSecondsAfterFinished: 0 });
    const { status } = await untilState(refused, 'Running');
    const allow = await refuse(api.kube, 'delete', PROBE_BATCHES, { namespace: api.namespace, name: refused });
    try {
      await endAll(status!.id!, 'kept.example');
      await untilState(refused, 'Completed');
      const beside = await create({ items: addresses('beside.example', 1) }, { ttlSecondsAfterFinished: 0 });
      await endAll((await untilState(beside, 'Running')).status!.id!, 'beside.example');
      await until('the other one is deleted', () =>
        read(beside).then(
          () => false,
          () => true,
        ),
      );
      const said = api.log.filter((line) => line.includes('cannot delete an object'));
      assert.equal(said.length, 1, said.join('\n'));
      assert.ok(said[0]!.includes(refused));
    } finally {
      await allow();
    }
  });

  it('gone unseen, which the API server lets nobody look for: its row stays, and that of the next goes', async () => {
    const other = await startStore();
    const client = await clientThatGets(await testApiServer({ own: true }), PROBE_BATCHES, 'next');
    const { store } = other;
    for (const [name, hours] of [
      ['refused', 3],
      ['next', 2],
    ] as const) {
      const object = { kind: 'ProbeBatch' as const, uid: randomUUID(), namespace: api.namespace, name };
      await store.idOfObject(object, uuidv7(store.clock.now() - hours * 3_600_000));
    }
    const objects = new BatchObjects({ ...api.wired.deps, store }, client, { leads: true });
    try {
      const left = () => store.objectsBeside('ProbeBatch', { uids: [], limit: 10 });
      await until('one is left', async () => (await left()).length === 1);
      assert.equal((await left())[0]!.name, 'refused');
      const said = api.log.filter((line) => line.includes('cannot look for a lost object'));
      assert.deepEqual([said.length, said[0]?.includes('/refused"')], [1, true]);
    } finally {
      await objects.stop();
      await client.close();
      await other.close();
    }
  });

  it('with the label of a queue, where Kueue is not enabled: it stays suspended', async () => {
    const name = 'queued';
    await api.kube.create(PROBE_BATCHES, {
      metadata: { name, namespace: api.namespace, labels: { 'kueue.x-k8s.io/queue-name': 'media' } },
      spec: { request: { probe: ONLY, items: addresses('queued.example', 1) } },
    });
    assert.equal(succeeded(await untilState(name, 'Suspended'))?.reason, 'KueueDisabled');
  });

  it('in the namespace of a tenant: it is of its account, and is cancelled if that is another one', async () => {
    await api.kube.create(NAMESPACES, { metadata: { name: TENANT } });
    const name = await create({ items: addresses('tenant.example', 1) }, { createdBy: 'alice' }, TENANT);
    await until('it waits for a token', async () => succeeded(await read(name, TENANT))?.reason === 'TokenInactive');
    await makeAccount(ACCOUNT);
    const { status } = await untilState(name, 'Running', TENANT);
    assert.equal((await api.stored.store.readBatch(status!.id!))?.userId, ACCOUNT);
    const settings = { ...api.wired.deps.settings, tenantNamespaces: [{ name: TENANT, account: api.userId }] };
    const rebound = new BatchObjects({ ...api.wired.deps, settings }, api.kube, { leads: true });
    await until('it is cancelled', async () => (await rows(name))[0]?.reason === 'Cancelled');
    await rebound.stop();
    assert.equal((await rows(name)).length, 1);
  });

  it('beside namespaces whose lists take long: it says that it waits, and has the next turn', async () => {
    for (const { name, account } of SLOW) {
      await api.kube.create(NAMESPACES, { metadata: { name } });
      await makeAccount(account);
      for (let list = 0; list < 6; list++) await create({ items_url: `${origin.url}/slow.txt` }, {}, name);
    }
    await until('a list of each is read', () => held.length === SLOW.length, 30_000);
    const name = await create({ items: addresses('turn.example', 1) });
    await until('it says so', async () => succeeded(await read(name))?.reason === 'AwaitingTurn');
    held[0]!.writeHead(503).end();
    await untilState(name, 'Running');
  });

  it('managedBy of another controller: it is left alone', async () => {
    const name = await create({ items: addresses('managed.example', 1) }, { managedBy: 'kueue.x-k8s.io/multikueue' });
    const running = await create({ items: addresses('running.example', 1) });
    await untilState(running, 'Running');
    await until('its item runs', async () => (await read(running)).status?.running === 1);
    const { resourceVersion } = (await read(running)).metadata;
    const later = await create({ items: addresses('later.example', 1) });
    await untilState(later, 'Running');
    // Nothing changed: nothing is written.
    assert.equal((await read(running)).metadata.resourceVersion, resourceVersion);
    assert.equal((await read(name)).status?.state, 'Waiting');
    assert.deepEqual(await rows(name), []);
    assert.deepEqual(
      (await api.kube.list(PROBE_JOBS, { namespace: api.namespace })).items.filter(({ spec }) =>
        spec.source.display?.includes('managed.example'),
      ),
      [],
    );
  });
});
