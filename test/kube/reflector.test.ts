import assert from 'node:assert/strict';
import { within } from '../../src/base/retry.ts';
import {
  CONFIG_MAPS,
  isKubeError,
  PROBE_JOBS,
  type ConfigMap,
  type KubeClient,
  type KubeObject,
} from '../../src/platform/kube/client.ts';
import { kubeClient } from './kubeconfig.ts';
import { startReflector, type Reflector, type ReflectorOptions } from '../../src/platform/kube/reflector.ts';
import { testApiServer, type TestApiServer } from './apiserver.ts';
import { until } from '../until.ts';
import { startRelay, type Relay } from './relay.ts';

describe('reflector', function () {
  this.timeout(60_000);
  let server: TestApiServer;
  let direct: KubeClient;
  let namespace: string;
  let relay: Relay;
  let client: KubeClient;
  let seen: string[];
  let lists: string[];
  let failures: unknown[];
  const running: Reflector<never>[] = [];

  before(async () => {
    server = await testApiServer({ alone: true });
  });
  after(() => server.stop());
  beforeEach(async () => {
    namespace = await server.namespace('reflector');
    relay = await startRelay(server.host, server.port);
    direct = await kubeClient({ kubeconfig: server.kubeconfig, namespace });
    client = await kubeClient({ kubeconfig: server.kubeconfigAt(relay.port), namespace });
    [seen, lists, failures] = [[], [], []];
  });
  afterEach(async () => {
    for (const one of running.splice(0)) await one.stop();
    await client.close();
    await direct.close();
    await relay.close();
  });

  function reflect<T extends KubeObject = ConfigMap>(options: Partial<ReflectorOptions<T>> = {}): Reflector<T> {
    const type = options.type ?? (CONFIG_MAPS as never);
    const reflector = startReflector<T>({
      client,
      type,
      namespace,
      pauses: { first: 20, longest: 200 },
      handlers: {
        add: (object, { relist }) => seen.push(`add ${object.metadata.name}${relist ? ' (list)' : ''}`),
        update: (object, _before, { relist }) => seen.push(`update ${object.metadata.name}${relist ? ' (list)' : ''}`),
        delete: (object, { finalStateUnknown }) =>
          seen.push(`delete ${object.metadata.name}${finalStateUnknown ? ' (missed)' : ''}`),
      },
      hooks: { listed: ({ reason }) => lists.push(reason), failed: (error) => failures.push(error) },
      ...options,
    });
    running.push(reflector as never);
    return reflector;
  }

  const put = (name: string, data: Record<string, string> = {}) =>
    direct.create(CONFIG_MAPS, { metadata: { name }, data });
  const change = (name: string, data: Record<string, string>) => direct.mergePatch(CONFIG_MAPS, name, { data });

  /** Waits until everything up to this write has been seen. */
  async function caughtUp(reflector: Reflector<never> | Reflector<ConfigMap>, object: KubeObject): Promise<void> {
    const version = Number(object.metadata.resourceVersion);
    await until('the cache has caught up', () => reflector.version() >= version, 20_000);
  }

  it('lists in pages, then follows additions, changes and deletions', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await put(name);
    const cache = reflect({ pageSize: 2 });
    await cache.synced;
    assert.deepEqual(
      seen.splice(0),
      ['a', 'b', 'c', 'd', 'e'].map((name) => `add ${name} (list)`),
    );
    await put('f');
    await change('a', { now: 'changed' });
    await direct.delete(CONFIG_MAPS, 'b');
    await caughtUp(cache, await put('g'));
    assert.deepEqual(seen, ['add f', 'update a', 'delete b', 'add g']);
    assert.equal(cache.get(`${namespace}/a`)?.data?.['now'], 'changed');
    assert.deepEqual(
      cache
        .list()
        .map(({ metadata }) => metadata.name)
        .sort(),
      ['a', 'c', 'd', 'e', 'f', 'g'],
    );
    assert.deepEqual(lists, ['start']);
  });

  it('drops managedFields, and keeps indexes current', async () => {
    const cache = reflect({ indexes: { owner: (map) => map.data?.['owner'] } });
    await cache.synced;
    await put('a', { owner: 'x' });
    await caughtUp(cache, await put('b', { owner: 'x' }));
    assert.equal('managedFields' in cache.get(`${namespace}/a`)!.metadata, false);
    assert.equal(cache.countBy('owner', 'x'), 2);
    await caughtUp(cache, await change('a', { owner: 'y' }));
    assert.deepEqual([cache.countBy('owner', 'x'), cache.countBy('owner', 'y')], [1, 1]);
  });

  it('holds what it is told to keep, and hands all of an object to its handlers', async () => {
    const handed: (string | undefined)[] = [];
    const cache = reflect({
      keep: ({ metadata }) => ({ metadata }),
      handlers: {
        add: (map) => handed.push(map.data?.['a']),
        update: (map, before) => handed.push(map.data?.['a'], before.data?.['a']),
        delete: (map) => handed.push(map.data?.['a']),
      },
    });
    await cache.synced;
    await caughtUp(cache, await put('a', { a: 'first' }));
    await caughtUp(cache, await change('a', { a: 'second' }));
    assert.equal(cache.get(`${namespace}/a`)?.data, undefined);
    await cache.relist();
    assert.deepEqual(handed.splice(0), ['first', 'second', undefined], 'nothing changed since');
    await direct.delete(CONFIG_MAPS, 'a');
    await caughtUp(cache, await put('b'));
    assert.deepEqual(handed, ['second', undefined]);
  });

  it('knows only of objects that it is told to take, from a list and from a watch', async () => {
    await put('mine-a');
    await put('other-a');
    const cache = reflect({ only: ({ metadata }) => metadata.name.startsWith('mine') });
    await cache.synced;
    const other = await put('other-b');
    const last = await put('mine-b');
    await direct.delete(CONFIG_MAPS, other.metadata.name);
    await direct.delete(CONFIG_MAPS, 'mine-a');
    await until('the deletion is seen', () => seen.includes('delete mine-a'));
    await caughtUp(cache, last);
    assert.deepEqual(seen, ['add mine-a (list)', 'add mine-b', 'delete mine-a']);
    assert.deepEqual([...cache.keys()], [`${namespace}/mine-b`]);
  });

  it('continues after the timeout of a watch without a new list', async () => {
    const cache = reflect({
      type: PROBE_JOBS as never,
      watchSeconds: () => 1,
      hooks: { listed: ({ reason }) => lists.push(reason), watchEnded: (reason) => seen.push(reason) },
      handlers: {},
    });
    await cache.synced;
    const ended = (): number => seen.filter((reason) => reason === 'end').length;
    // The server may forget the versions of a kind that was just defined.
    await until('a watch has ended', () => ended() >= 1);
    const before = [...lists];
    await until('three more have ended', () => ended() >= 4);
    const job = await direct.create(PROBE_JOBS, {
      metadata: { name: 'late' },
      spec: { kind: 'file', source: { url: 'https://a.example/b' } },
    });
    await caughtUp(cache as never, job);
    assert.deepEqual(lists, before);
  });

  it('advances by bookmarks while its kind is quiet', async () => {
    const cache = reflect({ type: PROBE_JOBS as never, watchSeconds: () => 3 });
    await cache.synced;
    const elsewhere = await put('elsewhere');
    assert.ok(cache.version() < Number(elsewhere.metadata.resourceVersion));
    await caughtUp(cache, elsewhere);
    assert.deepEqual([seen, lists], [[], ['start']]);
  });

  it('misses nothing when its connections are cut', async () => {
    const cache = reflect();
    await cache.synced;
    await caughtUp(cache, await put('a'));
    for (let n = 0; n < 5; n++) {
      relay.cut();
      await put(`b${n}`);
      await change('a', { n: String(n) });
      await direct.delete(CONFIG_MAPS, `b${n}`);
      await caughtUp(cache, await put(`c${n}`));
    }
    assert.equal(seen.filter((line) => line.startsWith('delete b')).length, 5);
    assert.equal(cache.get(`${namespace}/a`)?.data?.['n'], '4');
    assert.deepEqual(
      cache
        .list()
        .map(({ metadata }) => metadata.name)
        .sort(),
      ['a', 'c0', 'c1', 'c2', 'c3', 'c4'],
    );
    assert.deepEqual(lists, ['start'], 'a cut is no reason to list');
  });

  it('ignores half an event when the connection breaks in the middle of one', async () => {
    const cache = reflect();
    await cache.synced;
    await caughtUp(cache, await put('a'));
    const text = 'ä€😀'.repeat(30_000);
    relay.cutAfter(100_000);
    await caughtUp(cache, await put('big', { text }));
    assert.equal(cache.get(`${namespace}/big`)?.data?.['text'], text);
    assert.ok(failures.length > 0, 'the relay did cut');
  });

  it('accepts objects of a megabyte, through a list and through a watch', async () => {
    const text = 'ä€😀'.repeat(110_000);
    await put('listed', { text });
    const cache = reflect();
    await cache.synced;
    await caughtUp(cache, await put('watched', { text }));
    for (const name of ['listed', 'watched'])
      assert.equal(cache.get(`${namespace}/${name}`)?.data?.['text'], text, name);
  });

  it('notices a watch that went silent', async () => {
    const cache = reflect({ silenceMs: 400 });
    await cache.synced;
    await caughtUp(cache, await put('before'));
    relay.freeze();
    await caughtUp(cache, await put('a'));
    assert.ok(
      failures.some((error) => isKubeError(error, 'timeout') && /silent for 400 ms/.test(error.message)),
      String(failures),
    );
    assert.deepEqual(lists, ['start']);
  });

  it('lists again when the history was discarded, and reports missed deletions', async () => {
    const cache = reflect();
    await cache.synced;
    await put('kept');
    await put('deleted');
    await caughtUp(cache, await put('replaced'));
    seen.length = 0;
    relay.refuse(true);
    relay.cut();
    await direct.delete(CONFIG_MAPS, 'deleted');
    await direct.delete(CONFIG_MAPS, 'replaced');
    await put('replaced');
    await change('kept', { now: 'changed' });
    const last = await put('added');
    await server.compact();
    relay.refuse(false);
    await caughtUp(cache, last);
    assert.deepEqual(seen.toSorted(), [
      'add added (list)',
      'add replaced (list)',
      'delete deleted (missed)',
      'delete replaced (missed)',
      'update kept (list)',
    ]);
    assert.deepEqual(lists, ['start', 'gone']);
    await caughtUp(cache, await put('after'));
    assert.equal(seen.at(-1), 'add after');
  });

  it('starts before its server does', async () => {
    relay.refuse(true);
    const waiting = await kubeClient({ kubeconfig: server.kubeconfigAt(relay.port), namespace });
    const cache = reflect({ client: waiting });
    await until('it has failed twice', () => failures.length >= 2);
    assert.equal(cache.hasSynced(), false);
    relay.refuse(false);
    await cache.synced;
    await waiting.close();
  });

  it('reports the version that it has reached', async () => {
    const cache = reflect();
    await cache.synced;
    relay.freeze(true);
    const written = await put('a');
    assert.ok(cache.version() < Number(written.metadata.resourceVersion));
    relay.thaw();
    relay.cut();
    await caughtUp(cache, written);
  });

  it('lists on request even over a frozen watch, and has the earlier objects', async () => {
    const cache = reflect();
    await cache.synced;
    await caughtUp(cache, await put('before'));
    relay.freeze();
    client.config.replace(client.config.access().calls);
    await put('a');
    await cache.relist();
    assert.ok(cache.get(`${namespace}/a`));
    assert.deepEqual(lists, ['start', 'asked']);
    assert.deepEqual(failures, []);
  });

  it('serves many concurrent requests for a list', async () => {
    const cache = reflect();
    await cache.synced;
    await Promise.all([cache.relist(), cache.relist(), cache.relist()]);
    await caughtUp(cache, await put('a'));
    assert.ok(lists.length <= 3, lists.join());
  });

  it('survives a handler that throws', async () => {
    const cache = reflect({
      handlers: {
        add: () => {
          throw new Error('mine');
        },
      },
    });
    await cache.synced;
    await put('a');
    await caughtUp(cache, await put('b'));
    assert.equal(cache.size, (await direct.list(CONFIG_MAPS)).items.length);
    assert.ok(failures.some((error) => (error as Error).message === 'mine'));
  });

  it('opens no watch when it is stopped during a list', async () => {
    await put('a');
    let stopped: Promise<void> | undefined;
    const cache = reflect({ handlers: { add: () => (stopped = cache.stop()) } });
    await until('it is stopped', () => stopped !== undefined, 20_000);
    assert.equal(
      await within(
        10_000,
        stopped!.then(() => 'stopped'),
      ),
      'stopped',
    );
  });

  it('when stopped: its watch ends, and so does a wait for its first list', async () => {
    const cache = reflect();
    await cache.synced;
    await until('list and watch are open', () => relay.open === 2);
    await cache.stop();
    await until('the watch is closed', () => relay.open === 1);
    relay.refuse(true);
    relay.cut();
    const never = reflect();
    const stopped = assert.rejects(never.synced, { code: 'aborted' });
    await never.stop();
    await stopped;
  });
});
