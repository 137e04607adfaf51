/** ProbeSources on a real API server: what the tests of a file share. */
import { PROBE_SOURCES } from '../../../src/platform/kube/client.ts';
import { conditionOf } from '../../../src/platform/kube/conditions.ts';
import type { ProbeSource, ProbeSourceSpec } from '../../../src/platform/kube/probe_source.ts';
import type { Settings } from '../../../src/service/api/deps.ts';
import { until } from '../../until.ts';
import { ONLY } from '../batch/fixture.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { pageOf, sourcesOf, type Bucket } from './fixture.ts';

/** Within a `describe`. */
export function useProbeSources(change: Partial<Settings> = {}) {
  let api: ApiFixture;
  let sources: ReturnType<typeof sourcesOf>;
  let made = 0;

  before(async () => {
    api = await startApi(change);
    sources = sourcesOf(api);
    await api.stored.makeDefault(api.tokenId);
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
        await sources.endCancelled();
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
      `select s.id, s.state, s.user_id::int from sources s join followed_objects o on o.made_id = s.id
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

  return {
    get api() {
      return api;
    },
    get sources() {
      return sources;
    },
    create,
    patch,
    read,
    remove,
    requestOf,
    row,
    rows,
    untilEnded,
    untilProbed,
    untilReady,
  };
}
