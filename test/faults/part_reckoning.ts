/**
 * Load on one controller between real servers (test/controller/cluster_parts.ts), and the reckoning afterwards from
 * Postgres, the API server and the responses of callers.
 */
import assert from 'node:assert/strict';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import type { Cluster, Submitted, SubmitOptions } from '../controller/cluster_parts.ts';
import { stateOf } from '../controller/cluster_parts.ts';
import { until } from '../until.ts';
import { writeDown } from './note.ts';

const TOKENS = 5;
const LIMIT = 4;

export async function partLoad(
  cluster: Cluster,
  jobs: number,
  options: SubmitOptions = {},
): Promise<{ tokens: number[]; submitted: Submitted[] }> {
  const tokens = await Promise.all(Array.from({ length: TOKENS }, () => cluster.newToken(LIMIT)));
  const submitted: Submitted[] = [];
  for (let at = 0; at < jobs; at += TOKENS) {
    submitted.push(
      ...(await Promise.all(tokens.slice(0, jobs - at).map((token) => cluster.submit({ token, ...options })))),
    );
  }
  return { tokens, submitted };
}

export interface PartReckoning {
  ends: Record<string, number>;
  most: number;
  secondTold: number;
}

/** Every request has exactly one end, which all parts agree on. Usage equals it, and no token exceeded its limit. */
export async function reckon(
  cluster: Cluster,
  { tokens, submitted }: { tokens: number[]; submitted: Submitted[] },
  deadlineMs = 60_000,
  again = false,
): Promise<PartReckoning> {
  const { sql, store } = cluster.servers.stored;
  const ids = submitted.map(({ id }) => id);
  await until('every request has an end', async () => (await store.endsFor(ids)).length === ids.length, deadlineMs);
  await until(
    'every job shows its end',
    async () => {
      const { items } = await cluster.kube.listAll(PROBE_JOBS, { namespace: cluster.namespace });
      return items.every((job) => job.status?.completedAt !== undefined && stateOf(job) !== 'Running');
    },
    deadlineMs,
  );

  const rows = await sql<{
    id: string;
    state: string;
    status: number;
    reason: string;
    has_body: boolean;
    envelopes: string;
    io: string;
  }>(
    'select r.id, r.state, r.status, r.reason, r.has_body, (select count(*) from envelopes ' +
      'e where e.id = r.id) envelopes from requests r where r.id = any($1)',
    [ids],
  );
  assert.equal(rows.length, ids.length, 'each is recorded, once');
  for (const row of rows) assert.equal(Number(row.envelopes), row.has_body ? 1 : 0, `envelopes of ${row.id}`);
  const [usage] = await sql<{ requests: string }>(
    'select coalesce(sum(requests), 0) requests from (select token_id, requests from usage_minute ' +
      'union all select token_id, requests from rollup_minute) u where token_id = any($1)',
    [tokens],
  );
  assert.equal(Number(usage?.requests), ids.length, 'usage equals the recorded requests');

  let secondTold = 0;
  await until('every caller has its answer', () => ids.every((id) => cluster.told.has(id)));
  for (const row of rows) {
    const told = cluster.told.get(row.id) ?? [];
    if (told.length > 1) secondTold++;
    for (const { status } of told)
      assert.equal(status, row.status, `${row.id} was told ${status}, recorded is ${row.status}`);
  }
  const most = Math.max(...tokens.map((token) => cluster.most(token)));
  assert.ok(most <= LIMIT, `a token had ${most} at once, its limit is ${LIMIT}`);
  const ends: Record<string, number> = {};
  for (const { reason } of rows) ends[reason] = (ends[reason] ?? 0) + 1;
  const statuses: Record<string, number> = {};
  for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1;
  if (!again)
    await writeDown({
      requests: ids.length,
      recorded: rows.length,
      statuses,
      doubles: rows.length - new Set(rows.map(({ id }) => id)).size,
      most,
      limit: LIMIT,
    });
  return { ends, most, secondTold };
}
