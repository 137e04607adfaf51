/** The batches that a source makes, from what its creator sent. */
import type { CreatedBatch } from '../../../platform/store/batches.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { ObjectVersion, Source } from '../../../platform/store/sources.ts';
import { itemsOf } from '../batch/append_listed.ts';
import { createOf, mostOf } from '../batch/batch_endpoints.ts';
import { batchRequest, type BatchRequest } from '../batch/batch_request.ts';
import type { Deps } from '../deps.ts';
import type { Asker } from '../http/request_context.ts';
import type { SentSource } from './source_fields.ts';

/** Its fields that are those of a batch. */
export type BodyOfBatch = Omit<SentSource, 'every' | 'settle' | 'bundle' | 'existing'>;

/** Null: it can no longer be decrypted. */
export async function bodyOf({ accounts }: Pick<Deps, 'accounts'>, { id, body }: Source): Promise<BodyOfBatch | null> {
  const text = await accounts.box.openKept(body, 'source', id);
  return text === null ? null : (JSON.parse(text) as BodyOfBatch);
}

/** Throws what is wrong with it. Of a copy: defaults and exact versions are filled in. */
export const readBody = (deps: Deps, by: Asker, body: BodyOfBatch, gone: AbortSignal): Promise<BatchRequest> =>
  batchRequest(deps, by, { mediaType: 'application/json', text: '', value: structuredClone(body) }, gone);

interface Of {
  source: Source;
  body: BodyOfBatch;
  token: TokenRecord;
  gone: AbortSignal;
}

async function created(
  deps: Deps,
  { source, body, token, gone }: Of,
  change: (request: BatchRequest) => BatchRequest,
  objects: readonly ObjectVersion[],
): Promise<CreatedBatch['outcome']> {
  const by: Asker = { method: 'POST', state: { token } };
  const request = change(await readBody(deps, by, body, gone));
  const conditions = { most: mostOf(deps, token), idempotency: null, objects };
  const { created: batch } = await createOf(deps, by, request, conditions, { sourceId: source.id });
  return batch.outcome;
}

/** Nobody is told of its end, and the budget is that of objects. */
const OF_LISTING = { webhook_url: null, webhook_every: null, max_requests: null, max_bytes: null } as const;

export const createListing = (deps: Deps, of: Of): Promise<CreatedBatch['outcome']> =>
  created(deps, of, (request) => ({ ...request, head: { ...request.head, ...OF_LISTING } }), []);

export function createBundle(deps: Deps, of: Of, objects: readonly ObjectVersion[]): Promise<CreatedBatch['outcome']> {
  const { source, token } = of;
  const names = objects.map(({ name }) => name);
  return created(
    deps,
    of,
    (request) => {
      const { template } = request;
      const readItems = () => itemsOf(deps, { url: source.url, template, token }, names);
      return { ...request, listing: null, readItems };
    },
    objects,
  );
}
