/** ProbeSources: each object has one source, which does what the object asks for. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { PROBE_SOURCES } from '../../../src/platform/kube/client.ts';
import { conditionOf } from '../../../src/platform/kube/conditions.ts';
import { ProbeSources } from '../../../src/service/api/source/probe_sources.ts';
import { refuse } from '../../kube/refusal.ts';
import { until } from '../../until.ts';
import { pageOf, type Bucket } from './fixture.ts';
import { useProbeSources } from './probe_source_rig.ts';

describe('ProbeSources', function () {
  this.timeout(120_000);
  const rig = useProbeSources();
  const { create, patch, read, remove, requestOf, row, rows, untilEnded, untilProbed, untilReady } = rig;

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
    assert.equal((await rig.sources.read(id!)).state, 'running');
    assert.equal(rig.api.log.filter((line) => line.includes('made or changed') && line.includes(id!)).length, 1);
  });

  it('a listing that fails: the condition has its code, and the source runs', async () => {
    const name = await create(requestOf('refused', { tries: 1 }));
    const { id } = (await untilReady(name, 'Running')).status!;
    await rig.sources.run(
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
    await until('it lists', async () => (await rig.sources.batches.jobs('suspended')).length === 1);
    await rig.sources.run(
      'suspended',
      () => pageOf(new Map([['a.mp4', '1']])),
      async () => (await rig.api.stored.store.openBatchesOf(id!)).some(({ lists }) => !lists),
    );
    await rig.api.stored.store.moveSource({ id: id!, from: ['running'], to: 'paused' });
    await patch(name, { suspend: true });
    await untilReady(name, 'Suspended');
    const states = async () => (await rig.api.stored.store.openBatchesOf(id!)).map(({ state }) => state);
    await until('its batch is paused', async () => (await states()).every((state) => state === 'paused'));
    await patch(name, { suspend: false });
    await untilReady(name, 'Running');
    await untilProbed(id!, 'suspended', new Map([['a.mp4', '1']]), 1);
  });

  it('whose status the API server refuses: others have theirs', async () => {
    const { api } = rig;
    const refused = await create(requestOf('no-status'), { suspend: true });
    const allow = await refuse(api.kube, 'status', PROBE_SOURCES, { namespace: api.namespace, name: refused });
    try {
      await patch(refused, { suspend: false });
      const isRefused = () =>
        api.log.some((line) => line.includes('cannot write the status') && line.includes(refused));
      await until('it is refused', isRefused, 30_000);
      await untilReady(await create(requestOf('beside-it'), { suspend: true }), 'Suspended');
      assert.equal((await rows(refused)).length, 1, 'it has its source all the same');
    } finally {
      await allow();
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
    assert.deepEqual(await rig.sources.probed(id!), ['a.mp4', 'b.mp4']);
    const after = await row(id!);
    assert.equal(after.name, 'faster');
    assert.notEqual(after.lastListing?.at, lastListing?.at);
    assert.deepEqual(await rows(name), [{ id, state: 'running', user_id: rig.api.userId }]);
    assert.equal(rig.api.log.filter((line) => line.includes('made or changed') && line.includes(id!)).length, 2);
    await untilReady(name, 'Running');
    // Until a change is made, the status is not one of it.
    await rig.api.stored.sql(`update rate_limits set tat = now() + interval '1 hour' where id = $1`, [rig.api.tokenId]);
    await patch(name, { suspend: true, request: { every: 120 } });
    const { metadata, status } = await until('it is paused', async () => {
      const object = await read(name);
      return object.status?.state === 'Suspended' && object;
    });
    assert.ok(status!.observedGeneration! < metadata.generation!);
    await rig.api.stored.sql(`delete from rate_limits where id = $1`, [rig.api.tokenId]);
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
    assert.deepEqual(await rows(name), [{ id, state: 'running', user_id: rig.api.userId }]);
    await patch(name, { request: { probe: null } });
    assert.equal((await untilReady(name, 'Running')).status?.id, id);
  });

  it('deleted: its source is forgotten, also if it goes while no replica runs', async () => {
    const name = await create(requestOf('deleted'));
    const { id } = (await untilReady(name, 'Running')).status!;
    await remove(name);
    await untilEnded('it is gone', async () => (await rig.api.stored.store.readSource(id!)) === null);
    const left = await rig.sources.create({ bucket: { url: 's3://unseen/' } });
    const unseen = { kind: 'ProbeSource' as const, uid: randomUUID(), namespace: rig.api.namespace, name: 'unseen' };
    await rig.api.stored.store.idOfObject(unseen, left.id);
    const again = new ProbeSources(rig.api.wired.deps, rig.api.kube, { leads: true });
    await untilEnded('it is gone', async () => (await rig.api.stored.store.readSource(left.id)) === null);
    const rest = await rig.api.stored.store.objectsBeside('ProbeSource', { uids: [], limit: 10 });
    await again.stop();
    assert.deepEqual(rest, []);
  });

  it('deleted by a call: the object asks for it still, and has a new one', async () => {
    const name = await create(requestOf('called'));
    const { id } = (await untilReady(name, 'Running')).status!;
    assert.equal((await rig.sources.call(`/${id}`, { method: 'DELETE' })).status, 202);
    await untilEnded('it has another', async () => {
      const { status } = await read(name);
      return status?.state === 'Running' && status.id !== id;
    });
    assert.equal((await rows(name)).length, 1);
  });
});
