/**
 * The cost of recording one request: the two calls of its life against a single-row insert in the same run, one at a
 * time and from eight connections at once (all of one token in one minute, which is the worst case of the rollup, with
 * and without its slots). Run: npm exec -- node bench/store/record.ts [rounds]
 */
import { randomBytes } from 'node:crypto';
import { openDatabase } from '../../src/platform/store/connection.ts';
import { migrate, readMigrations } from '../../src/platform/store/migrate.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { startPostgres } from '../../test/servers.ts';
import { aCloseInput, anOpenInput } from '../../test/store/fixture.ts';

const rounds = Number(process.argv[2] ?? 1000);
const WORKERS = 8;
const body = randomBytes(20_000);
const QUOTAS = {
  of: [
    { scope: 'token', limits: { 'request-count': 1e9 } },
    { scope: 'account', limits: { 'processing-time': 1e12 } },
  ] as const,
  rootUserId: 1,
};

const quantile = (values: number[], q: number) => values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? 0;
const line = (what: string, times: number[], base: number, wall?: number) =>
  console.log(
    `${what.padEnd(58)} p50 ${quantile(times, 0.5).toFixed(2)}  p99 ` +
      `${quantile(times, 0.99).toFixed(2)} ms  ` +
      `${(quantile(times, 0.5) / base).toFixed(2)} ` +
      `x${wall ? `  ${Math.round((times.length / wall) * 1000)}/s` : ''}`,
  );

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

// Syncs to disk like a real installation.
const server = await startPostgres({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } });
try {
  await migrate({ url: server.url });
  const store = await openStore({ url: server.url, poolSize: WORKERS });
  const database = openDatabase({ url: server.url, poolSize: WORKERS });
  await database.rows({
    name: 'make',
    text: 'create table plain (id uuid primary key, at timestamptz, body bytea)',
    values: [],
  });
  const insert = () =>
    database.rows({
      name: 'plain',
      text: 'insert into plain values ($1, $2, $3)',
      values: [store.newRequest().id, new Date(), body],
    });
  const scanOnly = () => database.rows({ name: 'one', text: 'select 1', values: [] });

  const measure = async (count: number) => {
    const times: Record<'select' | 'insert' | 'open' | 'within' | 'close', number[]> = {
      select: [],
      insert: [],
      open: [],
      within: [],
      close: [],
    };
    for (let round = 0; round < count; round++) {
      times.select.push(await timed(scanOnly));
      times.insert.push(await timed(insert));
      const open = anOpenInput(store, { requestsPerMinute: 10_000_000, tokenId: 1 + (round % 50) });
      times.open.push(await timed(() => store.openRequest(open)));
      times.within.push(
        await timed(() =>
          store.openRequest(
            anOpenInput(store, { requestsPerMinute: 10_000_000, tokenId: 1 + (round % 50), quotas: QUOTAS }),
          ),
        ),
      );
      times.close.push(await timed(() => store.closeRequest(aCloseInput(open, { body }))));
    }
    return times;
  };
  await measure(50);
  const alone = await measure(rounds);
  const base = quantile(alone.insert, 0.5);
  console.log(`one at a time, ${rounds} rounds, bodies of ${body.length} bytes, fsync on`);
  line('select 1', alone.select, base);
  line('single-row insert (the measure)', alone.insert, base);
  line('open_request: rate limit, row', alone.open, base);
  line('open_request within quotas of token and account', alone.within, base);
  line('close_request: end, envelope, rollup', alone.close, base);

  const crowd = async (work: (index: number) => Promise<unknown>) => {
    const times: number[] = [];
    const start = performance.now();
    await Promise.all(
      Array.from({ length: WORKERS }, async (_, worker) => {
        for (let round = 0; round < rounds / 4; round++) times.push(await timed(() => work(worker)));
      }),
    );
    return { times, wall: performance.now() - start };
  };
  const closing = async (what: string, tokenOf: (worker: number) => number, crowdBase: number) => {
    const opens = await Promise.all(
      Array.from({ length: WORKERS * Math.ceil(rounds / 4) }, async (_, index) => {
        const open = anOpenInput(store, { tokenId: tokenOf(index % WORKERS) });
        await store.openRequest(open);
        return open;
      }),
    );
    const { times, wall } = await crowd(() => {
      const open = opens.pop();
      return open ? store.closeRequest(aCloseInput(open, { body })) : Promise.resolve();
    });
    line(what, times, crowdBase, wall);
  };
  console.log(`\n${WORKERS} connections at once`);
  const inserts = await crowd(insert);
  const crowdBase = quantile(inserts.times, 0.5);
  line('single-row insert (the measure)', inserts.times, crowdBase, inserts.wall);
  await closing('close_request, eight tokens', (worker) => 100 + worker, crowdBase);
  await closing('close_request, one token, slots by connection', () => 200, crowdBase);
  const functions = readMigrations().find((migration) => migration.name.includes('requests'))?.sql ?? '';
  const close = /create function close_request.*?^end \$\$;/ms
    .exec(functions)![0]
    .replace('create function', 'create or replace function')
    .replace('pg_backend_pid() % 8', '0');
  await database.rows({ name: 'one_slot', text: close, values: [] });
  await closing('close_request, one token, one slot', () => 300, crowdBase);
  const opening = await crowd(() =>
    store.openRequest(anOpenInput(store, { tokenId: 400, requestsPerMinute: 10_000_000 })),
  );
  line('open_request, one token', opening.times, crowdBase, opening.wall);
  await store.close();
  await database.end();
} finally {
  await server.stop();
}
