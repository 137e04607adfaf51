/**
 * A batch of a million items through the role `api` in a process of its own, on a real Postgres and NATS: a bucket of
 * as many objects, whose listings and items a played runner ends at once. While it runs, and when it has ended: what
 * pages and counts take, and the memory of each part. ITEMS: other than a million. MINUTES: then it is paused.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createTool } from '../../test/api/fixture.ts';
import { MAIN, startRoleServers, type RoleServers } from '../../test/api/role_process.ts';
import { childrenOf } from '../../test/processes.ts';
import { ADMIN } from '../../test/store/fixture.ts';
import { until } from '../../test/until.ts';
import { nameOfProcess, privateMb } from '../cluster/cpu.ts';
import { one, type Measurement, type Row } from '../measurement.ts';
import { type Summary, summary } from '../statistics.ts';
import type { Played } from './played_runner.ts';

const ITEMS = Number(process.env['ITEMS'] ?? 1_000_000);
const LONGEST_MS = Number(process.env['MINUTES'] ?? 10) * 60_000;
/** Of a list, which has at most 10,000. */
const LISTED = Math.min(10_000, ITEMS);
/** Between two calls: an account has 600 a minute. */
const PACE_MS = 110;
const SAMPLE_MS = 2_000;
const CALLS_AT_REST = 1_200;
const DIFFS = 10;
const MOST_TRIES = 20;
const REPLICA = 'measured';
const ANY_RATE = 1_000_000;

interface Bed {
  servers: RoleServers;
  api: ChildProcess;
  /** `sent`: lines of a new batch. */
  call<T>(path: string, sent?: string): Promise<{ ms: number; json: T }>;
  stop(): Promise<void>;
}

async function startBed(): Promise<Bed> {
  const servers = await startRoleServers();
  const { stored, folder } = servers;
  await stored.sql('update users set requests_per_minute = $1, concurrency = 1000', [ANY_RATE]);
  await createTool(servers, 'ffprobe', '7.0', { latest: true, options: ['of', 'show_format', 'show_streams'] });
  const { env, url } = await servers.settings();
  const own = { PY_REPLICA: REPLICA, PY_BATCH_MAX_ITEMS: `${3 * ITEMS}`, NODE_COMPILE_CACHE: join(folder, 'compiled') };
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [MAIN, 'api'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...env, ...own },
    });
    process.once('exit', () => child.kill('SIGKILL'));
    await until('the API is ready', async () => (await fetch(`${url}/readyz`)).ok, 60_000);
    return child;
  };
  // Modules are compiled by the first, as in the image: the compiler of TypeScript stays in memory otherwise.
  const compiling = await start();
  compiling.kill('SIGTERM');
  await once(compiling, 'exit');
  const api = await start();
  const played = fork(join(import.meta.dirname, 'played_runner.ts'));
  played.send({
    postgresUrl: stored.urls.controller,
    natsUrl: env['PY_NATS_URL']!,
    natsFile: env['PY_NATS_NKEY_FILE']!,
    replica: REPLICA,
    objects: ITEMS,
  } satisfies Played);
  await once(played, 'message');
  return {
    servers,
    api,
    async call<T>(path: string, sent?: string) {
      const headers = { authorization: `Bearer ${ADMIN.token}`, 'content-type': 'application/x-ndjson' };
      const body = sent === undefined ? {} : { method: 'POST', body: sent };
      for (let tries = 1; ; tries++) {
        const began = performance.now();
        const response = await fetch(`${url}/v1/batch${path}`, { headers, ...body });
        const text = await response.text();
        const ms = performance.now() - began;
        if (response.ok) return { ms, json: JSON.parse(text) as T };
        // An account that has to wait for its share of the CPU, after work that took long on a busy machine.
        if (response.status !== 429 || tries > MOST_TRIES)
          throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
        await delay(1_000 * Number(response.headers.get('retry-after') ?? 1));
      }
    },
    async stop() {
      played.disconnect();
      api.kill('SIGKILL');
      await servers.stop();
    },
  };
}

// What is created.

interface Batch {
  id: string;
  items: number;
  state: string;
  counts: { success: number; error: number };
}
const FIELDS = { probe: { only: 'ffprobe' }, rate: ANY_RATE, concurrency: 100, per_host: 8, tries: 1 };

interface Begun {
  id: string;
  /** From the call to its first item. */
  firstMs: number;
}

/** `first`: of those that are not a listing. */
async function begun({ servers: { stored }, call }: Bed, lines: object[], first: number): Promise<Begun> {
  const at = Date.now();
  const { id } = (await call<Batch>('', lines.map((line) => JSON.stringify(line)).join('\n'))).json;
  const text = 'select min(submitted_at) at from batch_items where batch_id = $1 and n >= $2';
  const look = async (): Promise<Date | null | undefined> =>
    (await stored.sql<{ at: Date | null }>(text, [id, first]))[0]?.at;
  return { id, firstMs: (await until('an item is begun', look, 60_000)).getTime() - at };
}

async function listed(bed: Bed, host: string): Promise<Begun> {
  const items = Array.from({ length: LISTED }, (_, n) => ({
    url: `https://${host}.example/${n}.mp4`,
    ref: `film ${n}`,
  }));
  const batch = await begun(bed, [FIELDS, ...items], 0);
  while ((await bed.call<Batch>(`/${batch.id}`)).json.state !== 'ended') await delay(500);
  return batch;
}

// What is measured.

/** `at`: any item so far. */
const PAGES: Record<string, (id: string, at: number) => string> = {
  'the batch with its counts': (id) => `/${id}`,
  'the list of batches': () => '',
  'a page of items': (id, at) => `/${id}/items?after=${at}`,
  'a page of items that wait': (id) => `/${id}/items?state=waiting`,
  'a page of items that run': (id) => `/${id}/items?state=running`,
  'a page of those that succeeded': (id, at) => `/${id}/items?state=success&after=${at}`,
  'a page of those with one code': (id, at) => `/${id}/items?code=http-404&after=${at}`,
};
interface Called {
  times: Map<string, number[]>;
  /** As it was last. */
  batch: Batch;
}

/** One call after the other, in turn, until `over`. */
async function calls({ call }: Bed, id: string, over: (batch: Batch, count: number) => boolean): Promise<Called> {
  const times = new Map<string, number[]>(Object.keys(PAGES).map((what) => [what, []]));
  let { json: batch } = await call<Batch>(`/${id}`);
  for (let count = 0; !over(batch, count); count += times.size) {
    for (const [what, path] of Object.entries(PAGES)) {
      const { ms } = await call(path(id, Math.floor(Math.random() * batch.items)));
      times.get(what)!.push(ms);
      await delay(Math.max(0, PACE_MS - ms));
    }
    ({ json: batch } = await call<Batch>(`/${id}`));
  }
  return { times, batch };
}

const PARTS = ['api', 'postgres', 'nats'] as const;
type Memory = Record<(typeof PARTS)[number], number[]>;

/** Private memory in MB: pages of a file, and what backends share, are not counted. */
function watchMemory({ api, servers: { stored } }: Bed): { memory: Memory; stop(): Promise<void> } {
  const memory: Memory = { api: [], postgres: [], nats: [] };
  const stopping = new AbortController();
  const sum = (pids: readonly number[]): number => pids.reduce((mb, pid) => mb + privateMb(pid), 0);
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      const backends = await stored.sql<{ pid: number }>('select pid from pg_stat_activity');
      memory.api.push(privateMb(api.pid!));
      memory.postgres.push(sum(backends.map(({ pid }) => pid)));
      memory.nats.push(sum(childrenOf(process.pid).filter((pid) => nameOfProcess(pid) === 'nats-server')));
      await delay(SAMPLE_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();
  return {
    memory,
    stop: () => {
      stopping.abort();
      return watching;
    },
  };
}

/** The last quarter beside the second: in the first, caches and pools fill. */
const memoryRows = (memory: Memory): Row[] =>
  PARTS.map((part) => {
    const ofPart = memory[part];
    const quarter = (from: number) =>
      summary(ofPart.slice((ofPart.length * from) / 4, (ofPart.length * (from + 1)) / 4));
    const what = `private memory of ${part}, last quarter`;
    const against = { what: 'second quarter', values: quarter(1) };
    return { name: `million-memory-${part}`, what, unit: 'MB', values: quarter(3), against };
  });

/** A page compares what it can in 20 s. Behind the last pair, it pairs all items and compares none. */
async function diffRows({ call }: Bed, before: string, after: string): Promise<Row[]> {
  const page = (from: number) =>
    call<{ pairs: number; summary: { comparisons: number } }>(`/${after}/diff?against=${before}&after=${from}`);
  const first = await page(0);
  const times: number[] = [];
  for (let turn = 0; turn < DIFFS; turn++) times.push((await page(LISTED)).ms);
  const what = `of the difference of two batches of ${LISTED} items`;
  const note = `${first.json.summary.comparisons} of ${first.json.pairs} pairs`;
  return [
    { name: 'million-diff', what: `first page ${what}`, unit: 'ms', values: one(first.ms), note },
    { name: 'million-diff-end', what: `last page ${what}`, unit: 'ms', values: summary(times) },
  ];
}

export const million: Measurement = {
  name: 'million',
  title: `a batch over a bucket of ${ITEMS} objects, whose items end at once`,
  async measure(report) {
    const bed = await startBed();
    try {
      const lists = [await listed(bed, 'before'), await listed(bed, 'after')] as const;
      const diffs = await diffRows(bed, lists[0].id, lists[1].id);
      const began = performance.now();
      const { id, firstMs } = await begun(bed, [{ ...FIELDS, bucket: { url: 's3://films/2026/' } }], 1);
      const firsts = lists.map((list) => list.firstMs);
      report(`first items of lists after ${firsts.join(' and ')} ms, of the bucket after ${firstMs} ms`);
      const { memory, stop } = watchMemory(bed);
      const isOver = ({ state }: Batch): boolean => state === 'ended' || performance.now() - began > LONGEST_MS;
      const busy = await calls(bed, id, isOver).finally(stop);
      const { counts, items, state } = busy.batch;
      const ended = counts.success + counts.error;
      const rate = ended / ((performance.now() - began) / 1000);
      report(`${ended} of ${items} items ended, ${rate.toFixed(0)}/s`);
      if (state !== 'ended') await bed.call(`/${id}/pause`, '');
      const rest = await calls(bed, id, (_, count) => count >= CALLS_AT_REST);
      const pageRow = (what: string): Row => {
        const [values, then] = [busy, rest].map(({ times }) => summary(times.get(what)!)) as [Summary, Summary];
        const against = { what: `after it, p99 ${then.p99.toFixed(1)}`, values: then };
        return { name: 'million-page', what: `${what}, while it runs`, unit: 'ms', values, against };
      };
      const first = { name: 'million-first', unit: 'ms' } as const;
      return [
        { ...first, what: `call → first item, of lists of ${LISTED}`, values: summary(firsts) },
        { ...first, what: 'call → first item, of the bucket', values: one(firstMs) },
        { name: 'million-rate', what: `items ended, ${ended} of ${items}`, unit: 'jobs/s', values: one(rate) },
        ...Object.keys(PAGES).map(pageRow),
        ...diffs,
        ...memoryRows(memory),
      ];
    } finally {
      await bed.stop();
    }
  },
};
