/** ProbeSources: each object has one source, which does what the object asks for. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isKubeError, NAMESPACES, PROBE_SOURCES } from '../../../src/platform/kube/client.ts';
import { conditionOf } from '../../../src/platform/kube/conditions.ts';
import type { ProbeSource, ProbeSourceSpec } from '../../../src/platform/kube/probe_source.ts';
import { ProbeSources } from '../../../src/service/api/source/probe_sources.ts';
import { MOST_SOURCES } from '../../../src/service/api/source/source_fields.ts';
import { until } from '../../until.ts';
import { ONLY } from '../batch/fixture.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { pageOf, sourcesOf, type Bucket } from './fixture.ts';

/** Bound to an account that is made afterwards. */
const TENANT = `team-${randomUUID().slice(0, 8)}`;
const ACCOUNT = 777_002;

describe('ProbeSources', function () {
  this.timeout(120_000);
  let api: ApiFixture;
  let sources: ReturnType<typeof sourcesOf>;
  let made = 0;

  before(async () => {
    api = await startApi({ tenantNamespaces: [{ name: TENANT, account: ACCOUNT }] });
    sources = sourcesOf(api);
    await api.stored.sql('update tokens set is_default = false');
    await api.stored.sql('update tokens set is_default = true where id = $1', [api.tokenId]);
  });
  after(() => api.stop());
  // What is left would take the room of the account.
  afterEach(async () => {
    const { items } = await api.kube.list(PROBE_SOURCES, { namespace: api.namespace });
    for (const { metadata } of items) await api.kube.delete(PROBE_SOURCES, metadata.name, { namespace: api.namespace });
    await untilEnded('their sources are gone', async () => (await api.stored.sql('select from sources')).length === 0);
  });

  /** The controller ends what is cancelled. */
  const untilEnded = (what: string, isSo: () => Promise<boolean>): Promise<true> =>
    until(
      what,
      async () => {
        const running = await api.stored.sql<{ request_id: string }>(
          `select i.request_id from batch_items i join batches b on b.id = i.batch_id
            where i.state = 'running' and b.state = 'cancelling'`,
        );
        for (const { request_id: id } of running)
          await sources.batches.failure(id, { status: 499, reason: 'Cancelled', error: 'the request was cancelled' });
        return isSo();
      },
      60_000,
    );

  const requestOf = (bucket: string, more: object = {}): object => ({
    probe: ONLY,
    settle: 0,
    bundle: 1,
    bucket: { url: `s3://${bucket}/` },
    ...more,
  });
  async function create(request: object, spec: Partial<ProbeSourceSpec> = {}, namespace = api.namespace) {
    const name = `psrc-${++made}`;
    await api.kube.create(PROBE_SOURCES, { metadata: { name, namespace }, spec: { ...spec, request } });
    return name;
  }
  const read = (name: string, namespace = api.namespace): Promise<ProbeSource> =>
    api.kube.get(PROBE_SOURCES, name, { namespace });
  const patch = (name: string, spec: object): Promise<unknown> =>
    api.kube.mergePatch(PROBE_SOURCES, name, { spec }, { namespace: api.namespace });
  const remove = (name: string) => api.kube.delete(PROBE_SOURCES, name, { namespace: api.namespace });
  async function untilReady(name: string, reason: string, namespace = api.namespace): Promise<ProbeSource> {
    let object = await read(name, namespace);
    const isSo = async () =>
      conditionOf((object = await read(name, namespace)).status, 'Ready')?.reason === reason &&
      object.status?.observedGeneration === object.metadata.generation;
    await until(`the object is ${reason}`, isSo, 30_000).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(object.status)}`);
    });
    return object;
  }
  const rows = (name = '') =>
    api.stored.sql<{ id: string; state: string; user_id: number }>(
      `select s.id, s.state, s.user_id::int from sources s join probe_sources o on o.source_id = s.id
        where o.name = $1 or $1 = ''`,
      [name],
    );
  const row = async (id: string) => (await api.stored.store.readSource(id))!;
  /** Until so many objects are probed and no batch is open. */
  const untilProbed = (id: string, bucket: string, objects: Bucket, count: number) =>
    sources.run(
      bucket,
      () => pageOf(objects),
      async () => (await sources.probed(id)).length >= count && (await api.stored.store.openBatchesOf(id)).length === 0,
    );

  it('created: its objects are probed, and the status says what is known', async () => {
    const name = await create(requestOf('created', { name: 'incoming' }), { createdBy: 'alice' });
    const { id } = (await untilReady(name, 'Running')).status!;
    const objects: Bucket = new Map([
      ['a.mp4', '1'],
      ['b.mp4', '1'],
    ]);
    await untilProbed(id!, 'created', objects, 2);
    await until('the status has them', async () => (await read(name)).status?.objects === 2);
    const { status } = await until('no batch is open', async () => {
      const object = await read(name);
      return object.status?.batches === 0 && object.status.lastListing !== undefined && object;
    });
    assert.deepEqual([status?.state, status?.id], ['Running', id]);
    const listed = conditionOf(status, 'Listed');
    assert.deepEqual(
      [listed?.status, listed?.message],
      ['True', '2 objects were found, 0 are not wanted, 0 were left out'],
    );
    assert.equal((await sources.read(id!)).state, 'running');
    assert.equal(api.log.filter((line) => line.includes('made or changed') && line.includes(id!)).length, 1);
  });

  it('a listing that fails: the condition has its code, and the source runs', async () => {
    const name = await create(requestOf('refused', { tries: 1 }));
    const { id } = (await untilReady(name, 'Running')).status!;
    await sources.run(
      'refused',
      () => 403,
      async () => (await row(id!)).lastListing !== null,
    );
    await until('it says so', async () => conditionOf((await read(name)).status, 'Listed')?.message === 'http-403');
    assert.equal((await read(name)).status?.state, 'Running');
  });

  it('suspended: created so, it has no source; later, its source is paused with its batches, and goes on', async () => {
    const name = await create(requestOf('suspended'), { suspend: true });
    const { status } = await untilReady(name, 'Suspended');
    assert.equal(conditionOf(status, 'Ready')?.status, 'True', 'it is what was asked for');
    assert.deepEqual(await rows(name), []);
    await patch(name, { suspend: false });
    const { id } = (await untilReady(name, 'Running')).status!;
    // As if what paused it had been killed before it paused the batches.
    await until('it lists', async () => (await sources.batches.jobs('suspended')).length === 1);
    await sources.run(
      'suspended',
      () => pageOf(new Map([['a.mp4', '1']])),
      async () => (await api.stored.store.openBatchesOf(id!)).some(({ lists }) => !lists),
    );
    await api.stored.store.moveSource({ id: id!, from: ['running'], to: 'paused' });
    await patch(name, { suspend: true });
    await untilReady(name, 'Suspended');
    const states = async () => (await api.stored.store.openBatchesOf(id!)).map(({ state }) => state);
    await until('its batch is paused', async () => (await states()).every((state) => state === 'paused'));
    await patch(name, { suspend: false });
    await untilReady(name, 'Running');
    await untilProbed(id!, 'suspended', new Map([['a.mp4', '1']]), 1);
  });

  it('whose status the API server refuses: others have theirs', async () => {
    const refused = await create(requestOf('no-status'), { suspend: true });
    const policy = `refuse-${randomUUID()}`;
    const admission = (path: string, body?: object) =>
      api.kube.request({
        method: body ? 'POST' : 'DELETE',
        path: `/apis/admissionregistration.k8s.io/v1/${path}${body ? '' : `/${policy}`}`,
        ...(body ? { body } : {}),
      });
    const [apiGroups, apiVersions, resources] = [['probeyard.dev'], ['v1alpha1'], ['probesources/status']];
    await admission('validatingadmissionpolicies', {
      metadata: { name: policy },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups, apiVersions, resources, operations: ['UPDATE'] }] },
        validations: [
          { expression: `object.metadata.namespace != '${api.namespace}' || object.metadata.name != '${refused}'` },
        ],
      },
    });
    await admission('validatingadmissionpolicybindings', {
      metadata: { name: policy },
      spec: { policyName: policy, validationActions: ['Deny'] },
    });
    try {
      const dry = { namespace: api.namespace, dryRun: true };
      const isInForce = async () => {
        const failure = await api.kube
          .mergePatchStatus(PROBE_SOURCES, refused, { objects: 7 }, dry)
          .catch((error: unknown) => error);
        return isKubeError(failure, 'invalid');
      };
      await until('the policy is in force', isInForce, 30_000);
      await patch(refused, { suspend: false });
      const isRefused = () =>
        api.log.some((line) => line.includes('cannot write the status') && line.includes(refused));
      await until('it is refused', isRefused, 30_000);
      await untilReady(await create(requestOf('beside-it'), { suspend: true }), 'Suspended');
      assert.equal((await rows(refused)).length, 1, 'it has its source all the same');
    } finally {
      await admission('validatingadmissionpolicybindings');
      await admission('validatingadmissionpolicies');
    }
  });

  it('changed: the source is the same, lists anew, and probes nothing again', async () => {
    const name = await create(requestOf('changed'));
    const { id } = (await untilReady(name, 'Running')).status!;
    const objects: Bucket = new Map([['a.mp4', '1']]);
    await untilProbed(id!, 'changed', objects, 1);
    const { lastListing } = await row(id!);
    await patch(name, { request: { every: 60, name: 'faster', tries: 1 } });
    await until('it is changed', async () => (await row(id!)).every === 60);
    objects.set('b.mp4', '1');
    await untilProbed(id!, 'changed', objects, 2);
    assert.deepEqual(await sources.probed(id!), ['a.mp4', 'b.mp4']);
    const after = await row(id!);
    assert.equal(after.name, 'faster');
    assert.notEqual(after.lastListing?.at, lastListing?.at);
    assert.deepEqual(await rows(name), [{ id, state: 'running', user_id: api.userId }]);
    assert.equal(api.log.filter((line) => line.includes('made or changed') && line.includes(id!)).length, 2);
    await untilReady(name, 'Running');
    // Until a change is made, the status is not one of it.
    await api.stored.sql(`update rate_limits set tat = now() + interval '1 hour' where id = $1`, [api.tokenId]);
    await patch(name, { suspend: true, request: { every: 120 } });
    const { metadata, status } = await until('it is paused', async () => {
      const object = await read(name);
      return object.status?.state === 'Suspended' && object;
    });
    assert.ok(status!.observedGeneration! < metadata.generation!);
    await api.stored.sql(`delete from rate_limits where id = $1`, [api.tokenId]);
    await untilReady(name, 'Suspended');
    assert.equal((await row(id!)).every, 120);
  });

  it('invalid: the condition says why, a source that is there goes on, and a change mends it', async () => {
    const wrong = { probe: { ffprobe: { version: '99' } } };
    const name = await create({ ...requestOf('invalid'), ...wrong });
    const object = await untilReady(name, 'InvalidRequest');
    assert.equal(object.status?.state, 'Refused');
    assert.match(conditionOf(object.status, 'Ready')!.message, /^spec\.request: probe\.ffprobe\.version: /);
    assert.deepEqual(await rows(name), []);
    await patch(name, { request: { probe: null } });
    const { id } = (await untilReady(name, 'Running')).status!;
    await patch(name, { request: wrong });
    await untilReady(name, 'InvalidRequest');
    assert.deepEqual(await rows(name), [{ id, state: 'running', user_id: api.userId }]);
    await patch(name, { request: { probe: null } });
    assert.equal((await untilReady(name, 'Running')).status?.id, id);
  });

  it('deleted: its source is forgotten, also if it goes while no replica runs', async () => {
    const name = await create(requestOf('deleted'));
    const { id } = (await untilReady(name, 'Running')).status!;
    await remove(name);
    await untilEnded('it is gone', async () => (await api.stored.store.readSource(id!)) === null);
    const left = await sources.create({ bucket: { url: 's3://unseen/' } });
    const unseen = { kind: 'ProbeSource' as const, uid: randomUUID(), namespace: api.namespace, name: 'unseen' };
    await api.stored.store.idOfObject(unseen, left.id);
    const again = new ProbeSources(api.wired.deps, api.kube, { leads: true });
    await untilEnded('it is gone', async () => (await api.stored.store.readSource(left.id)) === null);
    const rest = await api.stored.store.objectsBeside('ProbeSource', { uids: [], limit: 10 });
    await again.stop();
    assert.deepEqual(rest, []);
  });

  it('deleted by a call: the object asks for it still, and has a new one', async () => {
    const name = await create(requestOf('called'));
    const { id } = (await untilReady(name, 'Running')).status!;
    assert.equal((await sources.call(`/${id}`, { method: 'DELETE' })).status, 202);
    await untilEnded('it has another', async () => {
      const { status } = await read(name);
      return status?.state === 'Running' && status.id !== id;
    });
    assert.equal((await rows(name)).length, 1);
  });

  it('killed between the creation and the status, and two replicas: there is one source', async () => {
    const other = new ProbeSources(api.wired.deps, api.kube, { leads: true });
    const names = await Promise.all([1, 2, 3].map((n) => create(requestOf(`twice-${n}`))));
    const ids = await Promise.all(names.map(async (name) => (await untilReady(name, 'Running')).status!.id));
    await other.stop();
    const forged = { state: 'Refused', conditions: [], id: null, objects: 7 };
    await api.kube.mergePatchStatus(PROBE_SOURCES, names[0]!, forged, { namespace: api.namespace });
    const { status } = await untilReady(names[0]!, 'Running');
    assert.deepEqual([status?.id, status?.objects], [ids[0], 0]);
    // As if the one that created it had been killed before it noted of what.
    await api.stored.sql('update probe_sources set request_sha256 = null where name = $1', [names[1]]);
    await until('it is noted', async () => {
      const [{ noted }] = (await api.stored.sql<{ noted: boolean }>(
        'select request_sha256 is not null noted from probe_sources where name = $1',
        [names[1]],
      )) as [{ noted: boolean }];
      return noted;
    });
    assert.equal(Number((await api.stored.sql<{ n: string }>('select count(*) n from sources'))[0]!.n), 3);
  });

  it('as many sources as an account may have: it waits for room', async () => {
    const others = [];
    for (let n = 0; n < MOST_SOURCES; n++) others.push(await sources.create({ bucket: { url: `s3://full-${n}/` } }));
    const rate = () => api.stored.sql('select * from rate_limits where scope = $1 and id = $2', ['token', api.tokenId]);
    const before = await rate();
    const name = await create(requestOf('full'));
    await untilReady(name, 'TooManySources');
    assert.deepEqual(await rate(), before, 'to wait is no request of the token');
    for (const { id } of others) await sources.call(`/${id}`, { method: 'DELETE' });
    await untilEnded('there is room', async () => (await read(name)).status?.state === 'Running');
  });

  it('stopped, as its token is revoked: it goes on with the next one of the account', async () => {
    const { id: old } = await api.newToken();
    await api.stored.sql('update tokens set user_id = $2, is_default = false where id = $1', [api.tokenId, api.userId]);
    await api.stored.sql('update tokens set user_id = $2, is_default = true where id = $1', [old, api.userId]);
    const name = await create(requestOf('revoked'));
    const { id } = (await untilReady(name, 'Running')).status!;
    await untilProbed(id!, 'revoked', new Map([['a.mp4', '1']]), 1);
    await api.stored.sql('update tokens set revoked_at = now(), is_default = false where id = $1', [old]);
    await api.stored.sql(`update sources set list_at = now() where id = $1`, [id]);
    await untilReady(name, 'TokenInactive');
    await api.stored.sql('update tokens set is_default = true where id = $1', [api.tokenId]);
    await untilReady(name, 'Running');
    assert.deepEqual([(await row(id!)).tokenId, (await rows(name))[0]?.id], [api.tokenId, id]);
  });

  it('in the namespace of a tenant: it is of its account, and begins anew if that is another one', async () => {
    await api.kube.create(NAMESPACES, { metadata: { name: TENANT } });
    const name = await create(requestOf('tenant'), { createdBy: 'alice' }, TENANT);
    await untilReady(name, 'TokenInactive', TENANT);
    const { id: token } = await api.newToken();
    await api.stored.sql(
      `insert into users (id, email, status, role, permissions, requests_per_minute) overriding system value
        values ($1, 'tenant@source.test', 'active', 'user', array['read:media', 'write:media'], 1000000)`,
      [ACCOUNT],
    );
    await api.stored.sql('update tokens set user_id = $2 where id = $1', [token, ACCOUNT]);
    const { id } = (await untilReady(name, 'Running', TENANT)).status!;
    assert.equal((await row(id!)).userId, ACCOUNT);
    const settings = { ...api.wired.deps.settings, tenantNamespaces: [{ name: TENANT, account: api.userId }] };
    const rebound = new ProbeSources({ ...api.wired.deps, settings }, api.kube, { leads: true });
    await untilEnded('it is another one', async () => (await rows(name)).some((one) => one.user_id === api.userId));
    await rebound.stop();
    assert.ok((await rows(name)).every((one) => one.id !== id));
    await api.kube.delete(PROBE_SOURCES, name, { namespace: TENANT });
  });
});
