/** Calls of the batch endpoints, and a controller that ends what is begun as each test says. */
import { PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { requestOfChunk } from '../../../src/platform/store/uuid.ts';
import type { CloseInput } from '../../../src/platform/store/records.ts';
import { until } from '../../until.ts';
import { tool, type ApiFixture } from '../fixture.ts';

export interface BatchAnswer {
  id: string;
  state: string;
  reason: string | null;
  text: string | null;
  items: number;
  counts: Record<string, number>;
  requests: number;
  concurrency: number;
  rate: number;
  probe: { ffprobe: { version: string } };
  errors: { code: string; count: number }[];
}
export interface ItemAnswer {
  n: number;
  url: string;
  ref: string | null;
  state: string;
  tries: number;
  request_id: string | null;
  code: string | null;
  reason: string | null;
}

export const ONLY = { only: 'ffprobe' };

/** The requests that a job is of. */
export const requestsOf = ({ metadata: { name }, spec: { items } }: ProbeJob): string[] =>
  items === undefined ? [name] : Array.from({ length: items }, (_, at) => requestOfChunk(name, at + 1));

export function batchesOf(api: ApiFixture) {
  const call = (path: string, init: RequestInit = {}, token = api.token): Promise<Response> =>
    fetch(`${api.url}/v1/batch${path}`, {
      ...init,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(typeof init.body === 'string' ? { 'Content-Type': 'application/json' } : {}),
        ...init.headers,
      },
    });
  const json = async <T>(response: Response): Promise<T> => (await response.json()) as T;
  const calls = {
    call,
    post: (fields: object, headers: Record<string, string> = {}, token = api.token) =>
      call('', { method: 'POST', body: JSON.stringify(fields), headers }, token),
    async create(fields: object, token = api.token): Promise<BatchAnswer> {
      const response = await calls.post({ probe: ONLY, ...fields }, {}, token);
      if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
      return json(response);
    },
    async read(id: string): Promise<BatchAnswer> {
      return json(await call(`/${id}`));
    },
    async items(id: string, query = ''): Promise<ItemAnswer[]> {
      return (await json<{ items: ItemAnswer[] }>(await call(`/${id}/items?${query}`))).items;
    },
    act: (id: string, what: string, body?: object, token = api.token) =>
      call(`/${id}/${what}`, { method: 'POST', ...(body ? { body: JSON.stringify(body) } : {}) }, token),
    /** Another account, with a token. */
    async account(name: string): Promise<{ userId: number; token: string; tokenId: number }> {
      const { token, id: tokenId } = await api.newToken();
      const [user] = await api.stored.sql<{ id: string }>(
        `insert into users (email, status, role, permissions, requests_per_minute)
          values ($1, 'active', 'user', array['read:media', 'write:media'], 1000000) returning id`,
        [`${name}@batch.test`],
      );
      await api.stored.sql('update tokens set user_id = $2 where id = $1', [tokenId, user!.id]);
      return { userId: Number(user!.id), token, tokenId };
    },
    /** Looks into the record: calls are counted. */
    async untilIn(id: string, state: string): Promise<BatchAnswer> {
      await until(`the batch is ${state}`, async () => (await api.stored.store.readBatch(id))?.state === state);
      return calls.read(id);
    },
    /** Jobs with an address of this host, by name. */
    async jobs(host: string): Promise<ProbeJob[]> {
      const { items } = await api.kube.listAll(PROBE_JOBS, { namespace: api.namespace });
      return items.filter(({ spec }) => spec.source.display?.includes(`://${host}/`));
    },
    success: (id: string) =>
      api.end(id, { result: { tools: [tool('ffprobe', '{}')], ioUsage: 10 }, asked: [{ name: 'ffprobe' }] }),
    failure: (id: string, close: Partial<CloseInput>) => api.end(id, { close }),
    /**
     * Ends each request of the host as soon as its job is there, and deletes the job, until the batch has ended.
     * Returns how many jobs there were at once, at most.
     */
    async run(id: string, host: string, end: (job: ProbeJob) => Promise<void>): Promise<number> {
      let most = 0;
      await until(
        'the batch has ended',
        async () => {
          const jobs = await calls.jobs(host);
          most = Math.max(most, jobs.length);
          for (const job of jobs) {
            for (const name of requestsOf(job)) await end({ ...job, metadata: { ...job.metadata, name } });
            await api.kube.delete(PROBE_JOBS, job.metadata.name, { namespace: api.namespace });
          }
          return (await api.stored.store.readBatch(id))?.state === 'ended';
        },
        60_000,
      );
      return most;
    },
  };
  return calls;
}
