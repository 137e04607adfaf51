/**
 * A steady load over some tokens during a fault, and the reckoning afterwards from Postgres, the API server and the
 * callers' own records. Every accepted request has exactly one end, and no token ever exceeded its limit.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { LEASES, PODS, PROBE_JOBS, isKubeError } from '../../src/platform/kube/client.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { NAMESPACE, RUNNERS, eventually, stateOf, type Cluster } from '../cluster/fixture.ts';
import { assertHeldAsBefore, held, heldAtRest } from './links.ts';
import { inFull } from '../long.ts';
import { memory } from './memory.ts';
import { writeDown } from './note.ts';
import { isHarmed, paceOf } from './pace.ts';
import { noted } from '../waits.ts';

export interface LoadPlan {
  jobs: number;
  tokens: number;
  limit: number;
  callersPerToken: number;
  sourceDelayMs: number;
  queueTimeoutMs?: number;
  /** Time after which a caller gives up a call; undefined: never. */
  patienceMs?: number;
  /** A node is lost: the API server keeps the watches of its pods until TCP gives up, a quarter of an hour later. */
  keepsWatches?: boolean;
}
/** Fewer requests in the tests of every change. */
const PLAN: LoadPlan = { jobs: inFull() ? 200 : 80, tokens: 5, limit: 4, callersPerToken: 8, sourceDelayMs: 150 };

const MOST_REQUESTS = 4_000;

interface Told {
  id: string | null;
  status: number;
  ms: number;
  token: string;
  /** When the response arrived, from the start of the load. */ at: number;
  /** What it was told, or how the connection broke. */
  error?: string;
}

export interface Reckoning {
  told: Told[];
  /** The tokens of the callers. */
  ids: number[];
  total: number;
  statuses: Record<string, number>;
  most: Record<string, number>;
  ms: number;
  /** The longest time without a 200 for any caller. */
  longestGapMs: number;
}

/** Processes of this node by an environment variable of theirs, for a test that has to kill one. */
export function pidsOf(variable: string, value: string): number[] {
  const wanted = `\0${variable}=${value}\0`;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(wanted);
      } catch {
        return false;
      }
    });
}

/** The process that holds the lease, as `pod_something`. A restarted container is another one in the same pod. */
export const leaseHolder = async (c: Cluster): Promise<string> =>
  (await c.kube.get(LEASES, 'probeyard-controller', { namespace: NAMESPACE })).spec?.holderIdentity ?? '';

export const leaderPod = async (c: Cluster): Promise<string> => (await leaseHolder(c)).split('_')[0]!;

export async function underLoad(
  c: Cluster,
  fault: () => Promise<void>,
  changes: Partial<LoadPlan> = {},
): Promise<Reckoning> {
  const plan = { ...PLAN, ...changes };
  const memoryBefore = memory('Rss');
  const heldBefore = await heldAtRest(c);
  const paceBefore = inFull() ? await paceOf(c) : undefined;
  const tokens = await Promise.all(Array.from({ length: plan.tokens }, () => c.newToken(plan.limit)));
  const ids = new Set(tokens.map(({ id }) => id));
  const running = new Map<number, Set<string>>(tokens.map(({ id }) => [id, new Set()]));
  const most: Record<string, number> = {};
  const note = (job: ProbeJob, gone: boolean) => {
    const token = job.spec.token?.id ?? 0;
    const set = running.get(token);
    if (!set) return;
    if (!gone && stateOf(job) === 'Running') set.add(job.metadata.name);
    else set.delete(job.metadata.name);
    most[token] = Math.max(most[token] ?? 0, set.size);
  };
  const watch = startReflector<ProbeJob>({
    client: c.kube,
    type: PROBE_JOBS,
    namespace: NAMESPACE,
    handlers: { add: (job) => note(job, false), update: (job) => note(job, false), delete: (job) => note(job, true) },
  });
  await watch.synced;

  const origin = await c.origin((_request, response) => {
    setTimeout(
      () => response.writeHead(200, { 'content-length': TEXT.length, 'content-type': 'text/plain' }).end(TEXT),
      plan.sourceDelayMs,
    );
  });
  const asked = {
    url: `${origin.url}/clip.mp4`,
    only: 'ffprobe',
    ...(plan.queueTimeoutMs === undefined ? {} : { queue_timeout: plan.queueTimeoutMs }),
  };
  const told: Told[] = [];
  const started = performance.now();
  let left = plan.jobs;
  const load = { over: false };
  // As long as the fault lasts, and at least this many.
  const caller = async (token: string): Promise<void> => {
    while (left-- > 0 || (!load.over && told.length < MOST_REQUESTS)) {
      const began = performance.now();
      try {
        const signal = plan.patienceMs === undefined ? {} : { signal: AbortSignal.timeout(plan.patienceMs) };
        const { status, json, headers } = await c.probe(asked, { token, ...signal });
        told.push({
          id: headers.get('x-request-id') ?? json.metadata?.request_id ?? null,
          status,
          ms: performance.now() - began,
          at: performance.now() - started,
          token,
          ...(status === 200 ? {} : { error: String(json.error) }),
        });
        // No tight loop while every request is refused.
        if (status >= 500) await delay(250);
      } catch (error) {
        // The connection to an API replica broke, and the caller knows no more.
        told.push({
          id: null,
          status: 0,
          ms: performance.now() - began,
          at: performance.now() - started,
          error: String((error as Error).cause ?? error),
          token,
        });
        await delay(250);
      }
    }
  };
  const callers = tokens.flatMap(({ token }) => Array.from({ length: plan.callersPerToken }, () => caller(token)));
  await eventually('the load runs', 60, () => told.length >= plan.jobs / 10);
  try {
    await noted('the fault is over', fault);
  } finally {
    load.over = true;
  }
  await noted('the callers end', () => Promise.all(callers));

  const list = [...ids].join(',');
  await eventually(
    'no request is left open',
    120,
    async () => (await c.sql(`select count(*) from requests where token_id in (${list}) and state = 'open'`)) === '0',
  );
  const rows = JSON.parse(
    await c.sql(`select coalesce(json_agg(json_build_object('id', r.id, 'state', r.state, 'status', r.status, 'reason',
    r.reason, 'has_body', r.has_body,
      'envelopes', (select count(*) from envelopes e where e.id = r.id))), '[]') from requests r where r.token_id in
      (${list})`),
  ) as { id: string; state: string; status: number; reason: string; has_body: boolean; envelopes: number }[];
  const byId = new Map(rows.map((row) => [row.id, row]));

  assert.equal(byId.size, rows.length, 'a request is recorded once');
  for (const row of rows) assert.equal(row.envelopes, row.has_body ? 1 : 0, `envelopes of ${row.id}`);
  for (const { id, status } of told) {
    if (id === null || status === 0) continue;
    const row = byId.get(id);
    if (row === undefined) {
      // Refused before it was accepted, so no row was opened, and there must be no result.
      assert.notEqual(status, 200, `${id} was answered with a result that is not recorded`);
      continue;
    }
    if (status === 200)
      assert.equal(row.status, 200, `${id}: the caller was told 200, the record says ${row.status} ${row.reason}`);
  }
  // A caller that got 429 or 500 can read the final end of the request.
  for (const { id, token } of told.filter((answer) => answer.status >= 429 && byId.has(answer.id ?? '')).slice(0, 10)) {
    const row = byId.get(id ?? '');
    const { status } = await c.get(`/v1/probe/${id}`, token);
    assert.equal(status, row?.status, `${id} read back`);
  }
  const usage = await c.sql(
    'select coalesce(sum(requests), 0) from (select token_id, requests from usage_minute union all ' +
      `select token_id, requests from rollup_minute) u where token_id in (${list})`,
  );
  assert.equal(Number(usage), rows.length, 'usage equals the recorded requests');
  for (const [token, count] of Object.entries(most))
    assert.ok(count <= plan.limit, `token ${token} had ${count} running, its limit is ${plan.limit}`);
  for (const { ms } of told) assert.ok(ms < 150_000, 'every caller was told something in time');

  await eventually("every job's status shows an end", 60, async () =>
    (await c.kube.listAll(PROBE_JOBS, { namespace: NAMESPACE })).items.every(
      (job) => !ids.has(job.spec.token?.id ?? 0) || job.status?.completedAt !== undefined,
    ),
  );
  await watch.stop();
  await eventually('every process holds as many connections and watches as before', 90, async () => {
    const heldNow = await held(c);
    assertHeldAsBefore(plan.keepsWatches ? { ...heldNow, watches: heldBefore.watches } : heldNow, heldBefore);
    return true;
  });
  const pace = paceBefore && { before: paceBefore, after: await paceOf(c) };
  const broken = told.filter(({ status }) => status === 0);
  if (broken.length > 0)
    console.log(
      '      broken connections: ' +
        `${[...new Set(broken.map(({ error, ms }) => `${error} after ${Math.round(ms)} ms`))].slice(0, 5).join('; ')}`,
    );
  const statuses: Record<string, number> = {};
  for (const { status } of told) statuses[status] = (statuses[status] ?? 0) + 1;
  const longestGapMs = longestGap(told.filter(({ status }) => status === 200).map(({ at }) => at));
  const reckoning = {
    told,
    ids: [...ids],
    total: told.length,
    statuses,
    most,
    ms: performance.now() - started,
    longestGapMs,
  };
  await writeDown({
    requests: told.length,
    recorded: rows.length,
    statuses,
    doubles: rows.length - byId.size,
    most: Math.max(0, ...Object.values(most)),
    limit: plan.limit,
    longestGapMs: Math.round(longestGapMs),
    ms: Math.round(reckoning.ms),
    pace,
    memory: { before: memoryBefore, after: memory('Rss') },
  });
  if (pace && isHarmed(pace.after, pace.before)) assert.fail(`slower than before the fault: ${JSON.stringify(pace)}`);
  return reckoning;
}

/**
 * While a part is away, this share still gets 200, and the others 503, 500 or a broken connection. No other status
 * would be correct.
 */
/** `answered`: API replicas stay reachable during this fault, so no caller may see a broken connection. */
export function assertTold(
  { statuses, total, ms }: Reckoning,
  share: number,
  { queueTimeouts = false, answered = false } = {},
): void {
  const { 200: good = 0, 503: away = 0, 500: ours = 0, 0: broken = 0 } = statuses;
  // A part that is away for longer than the queue timeout.
  const late = queueTimeouts ? (statuses[429] ?? 0) : 0;
  assert.equal(good + away + ours + broken + late, total, JSON.stringify(statuses));
  // Of a short load, most requests meet the fault.
  const least = inFull() ? share : share / 3;
  assert.ok(good >= total * least, JSON.stringify(statuses));
  if (answered) assert.equal(broken, 0, `connections broke: ${JSON.stringify(statuses)}`);
  console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
}

/** The longest time between two successes. */
function longestGap(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted.reduce((longest, time, index) => Math.max(longest, index === 0 ? 0 : time - sorted[index - 1]!), 0);
}

const TEXT = 'not a media file, and quickly seen to be none';

/** Nothing of a fault may remain. The pools are whole again, and every pod belongs to a pool. */
export async function settled(c: Cluster): Promise<void> {
  await eventually('the pools serve again', 120, async () => {
    const pods = await c.kube.listAll(PODS, {
      namespace: RUNNERS,
      labelSelector: 'app.kubernetes.io/component=runner',
    });
    return (
      pods.items.length > 0 &&
      pods.items.every(
        ({ status, metadata }) => metadata.deletionTimestamp !== undefined || status?.phase === 'Running',
      )
    );
  });
}

export async function killPod(c: Cluster, namespace: string, name: string): Promise<void> {
  await c.kube.delete(PODS, name, { namespace, gracePeriodSeconds: 0 }).catch((error: unknown) => {
    if (!isKubeError(error, 'not-found')) throw error;
  });
}

export const moment = (ms: number): Promise<void> => noted('a pause', () => delay(ms));
