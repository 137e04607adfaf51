/** Batches in tests on the cluster. */
import assert from 'node:assert/strict';
import type { Batch } from '../../src/api_types.ts';
import { eventually, type Cluster } from './fixture.ts';

/** A body of JSON has room for some thousands. */
const MOST_IN_JSON = 5_000;

interface Sent {
  items?: readonly (string | { url: string })[];
  [field: string]: unknown;
}

export async function createdBatch(c: Cluster, token: string, body: Sent): Promise<Batch> {
  const { items = [], ...head } = body;
  const inLines = [head, ...items.map((item) => (typeof item === 'string' ? { url: item } : item))]
    .map((line) => JSON.stringify(line))
    .join('\n');
  const { status, json, text } = await (items.length > MOST_IN_JSON
    ? c.probe(inLines, { token, path: '/v1/batch', headers: { 'content-type': 'application/x-ndjson' } })
    : c.probe(body, { token, path: '/v1/batch' }));
  assert.equal(status, 201, text);
  return json as unknown as Batch;
}

export const batchEnded = (c: Cluster, token: string, id: string, seconds: number): Promise<Batch> =>
  eventually('the batch ends', seconds, async () => {
    const { status, json } = await c.get(`/v1/batch/${id}`, token);
    const batch = json as unknown as Batch;
    return status === 200 && batch.state === 'ended' && batch;
  });

/** Requests of a token in the record, and in its usage. */
export async function recorded(c: Cluster, token: number): Promise<{ requests: number; ids: number; used: number }> {
  const told = await c.sql(`select json_build_object(
    'requests', (select count(*) from requests where token_id = ${token}),
    'ids', (select count(distinct id) from requests where token_id = ${token}),
    'used', (select coalesce(sum(requests), 0) from (
      select requests from usage_minute where token_id = ${token}
      union all select requests from rollup_minute where token_id = ${token}) u))`);
  return JSON.parse(told) as { requests: number; ids: number; used: number };
}
