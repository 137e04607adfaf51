/** Batches in tests on the cluster. */
import assert from 'node:assert/strict';
import type { Batch } from '../../src/api_types.ts';
import { eventually, type Cluster } from './fixture.ts';

export async function createdBatch(c: Cluster, token: string, body: object): Promise<Batch> {
  const { status, json, text } = await c.probe(body, { token, path: '/v1/batch' });
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
