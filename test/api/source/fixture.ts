/** Calls of the source endpoints, and a controller that lists a bucket as each test says. */
import { PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { openSealed } from '../../../src/platform/seal/seal.ts';
import type { Listed, Listing } from '../../../src/source/listing/listing.ts';
import { versionOf } from '../../../src/source/listing/object_version.ts';
import { until } from '../../until.ts';
import { batchesOf, ONLY, requestsOf } from '../batch/fixture.ts';
import { tool, type ApiFixture } from '../fixture.ts';

export interface SourceAnswer {
  id: string;
  state: string;
  reason: string | null;
  text: string | null;
  objects: number;
  events_key: string;
  next_listing_at: string | null;
  last_listing: { at: string; error: string | null; found: number; filtered: number; left_out: number } | null;
}

/** By name: its ETag. */
export type Bucket = Map<string, string>;

const OLD = Date.UTC(2026, 0, 1);

export const pageOf = (bucket: Bucket): Listed => ({
  names: [...bucket.keys()],
  versions: [...bucket.values()].map((etag) => [versionOf({ etag, bytes: 1, modified: OLD }), OLD]),
  found: bucket.size,
  filtered: 0,
  unreadable: 0,
  next: null,
});

export function sourcesOf(api: ApiFixture) {
  const batches = batchesOf(api);
  const call = (path: string, init: RequestInit = {}, token = api.token): Promise<Response> =>
    fetch(`${api.url}/v1/source${path}`, {
      ...init,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(typeof init.body === 'string' ? { 'Content-Type': 'application/json' } : {}),
      },
    });
  const listingOf = ({ metadata: { name }, spec }: ProbeJob): Listing | undefined => {
    if (spec.items !== undefined) return undefined;
    const text = openSealed(spec.source.sealed!, { requestId: name, tokenId: spec.token!.id }, api.privateKeys);
    // Of an item without a credential it is the address.
    return text.startsWith('{') ? (JSON.parse(text) as { listing?: Listing }).listing : undefined;
  };
  const calls = {
    batches,
    call,
    post: (fields: object, token = api.token) =>
      call('', { method: 'POST', body: JSON.stringify({ probe: ONLY, settle: 0, bundle: 1, ...fields }) }, token),
    async create(fields: object, token = api.token): Promise<SourceAnswer> {
      const response = await calls.post(fields, token);
      if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
      return (await response.json()) as SourceAnswer;
    },
    read: async (id: string) => (await (await call(`/${id}`)).json()) as SourceAnswer,
    act: (id: string, what: string) => call(`/${id}/${what}`, { method: 'POST' }),
    /** Without listings, the oldest first. */
    async batchesOf(id: string): Promise<{ id: string; state: string; items: number }[]> {
      const response = await batches.call(`?limit=100&source=${id}`);
      return (
        (await response.json()) as { batches: { id: string; state: string; items: number }[] }
      ).batches.toReversed();
    },
    endListing: (name: string, page: Listed) =>
      api.end(name, {
        result: { tools: [], skipped: ['ffprobe'], ioUsage: 5, listing: { output: JSON.stringify(page) } },
        asked: [{ name: 'ffprobe' }],
      }),
    fails: (name: string, status: number) =>
      api.end(name, {
        result: {
          tools: [
            tool('ffprobe', '', {
              success: false,
              failure: 'origin-unreachable',
              code: `http-${status}`,
              error: 'x',
              output: null,
            }),
          ],
          ioUsage: 0,
        },
        asked: [{ name: 'ffprobe' }],
      }),
    /** As the controller does: their ProbeJobs are gone. */
    async endCancelled(): Promise<void> {
      const running = await api.stored.sql<{ request_id: string }>(
        `select i.request_id from batch_items i join batches b on b.id = i.batch_id
          join requests r on r.id = i.request_id and r.submitted_at = i.submitted_at
          where i.state = 'running' and b.state = 'cancelling' and r.state = 'open'`,
      );
      for (const { request_id: id } of running)
        await batches.failure(id, { status: 499, reason: 'Cancelled', error: 'the request was cancelled' });
    },
    /** Ends jobs of the bucket until it is done: listings with `page` or a status, others with success. */
    run: (bucket: string, page: () => Listed | number, done: () => Promise<boolean>): Promise<true> =>
      until(
        'the source is done',
        async () => {
          for (const job of await batches.jobs(bucket)) {
            const listing = listingOf(job);
            for (const name of requestsOf(job)) {
              const one = listing === undefined ? undefined : page();
              if (one === undefined) await batches.success(name);
              else if (typeof one === 'number') await calls.fails(name, one);
              else await calls.endListing(name, one);
            }
            await api.kube.delete(PROBE_JOBS, job.metadata.name, { namespace: api.namespace });
          }
          await calls.endCancelled();
          return done();
        },
        60_000,
      ),
    /** The objects of all items of its batches that have ended, by name. */
    async probed(id: string): Promise<string[]> {
      const rows = await api.stored.sql<{ ref: string }>(
        `select i.ref from batch_items i join batches b on b.id = i.batch_id
          where b.source_id = $1 and b.listing is null and i.state = 'success'`,
        [id],
      );
      return rows.map(({ ref }) => ref).toSorted();
    },
  };
  return calls;
}
