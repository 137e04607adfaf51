/** Worker threads of the API: real threads, real work. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { makePaces } from '../../../src/service/result/pace.ts';
import {
  makeWorkPool,
  type WorkOutcome,
  type WorkPool,
  type WorkPoolOptions,
} from '../../../src/service/api/work/pool.ts';
import { filled } from '../../source/work.ts';

const A = { account: 1, what: 'policy' };
const B = { account: 2, what: 'policy' };
const short = { text: '{"rules":[{"name":"r","count":"video","is":1}]}', mediaType: 'application/json' };
const yaml = { text: 'rules: [{name: r, count: video, is: 1}]', mediaType: 'application/yaml' };
/** Each line is an error, and the parser makes an object of each. */
const slow = { text: filled("'\n", 40_000), mediaType: 'application/yaml' };

describe('worker threads', function () {
  this.timeout(60_000);
  let pool: WorkPool | undefined;
  const ended: [string, WorkOutcome][] = [];

  function make(options: Partial<WorkPoolOptions> = {}): WorkPool {
    ended.length = 0;
    pool = makeWorkPool({
      paceOf: makePaces({ burstMs: 60_000 }),
      deadlineMs: 30_000,
      onDone: (name, outcome) => ended.push([name, outcome]),
      ...options,
    });
    return pool;
  }
  afterEach(() => pool?.close());

  it('a policy is read in a thread like in place, and what is wrong with it comes back', async () => {
    const work = make();
    const inThread = await work.run('readPolicy', yaml, A);
    assert.deepEqual(await work.run('readPolicy', short, A), inThread);
    assert.equal('document' in inThread && inThread.document, '{"rules":[{"count":"video","is":1,"name":"r"}]}');
    const refused = await work.run('readPolicy', { ...yaml, text: 'rules: 1' }, A);
    assert.deepEqual(refused, { refused: { path: 'rules', message: 'must be a list' } });
    assert.deepEqual(
      ended,
      [
        ['readPolicy', 'done'],
        ['readPolicy', 'done'],
      ],
      'short work takes no thread',
    );
  });

  it('a thread comes behind the main thread', async () => {
    const before = getPriority();
    const known = new Set(readdirSync('/proc/self/task'));
    await make().run('readPolicy', yaml, A);
    const added = readdirSync('/proc/self/task').filter((id) => !known.has(id));
    assert.ok(
      added.some((id) => getPriority(Number(id)) === Math.max(before, 10)),
      `${added}`,
    );
    assert.equal(getPriority(), before);
  });

  it('a slow policy costs the main thread next to nothing', async () => {
    const work = make();
    await work.run('readPolicy', yaml, A);
    const [all, own] = [process.cpuUsage(), process.threadCpuUsage()];
    await work.run('readPolicy', slow, A);
    const { user: ownUser } = process.threadCpuUsage(own);
    const { user: allUser } = process.cpuUsage(all);
    assert.ok(allUser > 4 * ownUser, `${ownUser / 1000} ms of ${allUser / 1000} ms were in the main thread`);
  });

  it('work that takes longer than the deadline is a 400 that names it, and the next piece is done', async () => {
    const work = make({ deadlineMs: 2, threads: 1 });
    await assert.rejects(work.run('readPolicy', slow, A), {
      status: 400,
      field: 'policy',
      message: 'policy: took longer than 0.002 s to process',
    });
    await pool!.run('readPolicy', short, A);
    assert.deepEqual(ended, [['readPolicy', 'late']]);
  });

  it('work that needs more memory than a thread has is a 400 that names it, and the next piece is done', async () => {
    // With its modules loaded a thread uses 23 MB before its first collection: with 16 the next piece could fail, too.
    const work = make({ heapMb: 32, threads: 1 });
    const output = `[${filled('[],', 4_000_000)}1]`;
    const runs = ['1', '2'].map((version) => ({ tool: 'ffprobe' as const, label: version, version, output }));
    await assert.rejects(work.run('compare', runs, { ...A, what: 'request_ids' }), {
      status: 400,
      message: 'request_ids: needs more memory to process than is accepted',
    });
    assert.ok('document' in (await work.run('readPolicy', yaml, A)));
    assert.deepEqual(ended, [
      ['compare', 'out-of-memory'],
      ['readPolicy', 'done'],
    ]);
  });

  it('accounts take turns: one with much work delays another by one piece at most', async () => {
    const work = make({ threads: 1 });
    const order: number[] = [];
    const run = async (by: typeof A): Promise<void> => {
      await work.run('readPolicy', yaml, by);
      order.push(by.account);
    };
    await Promise.all([...Array.from({ length: 8 }, () => run(A)), run(B)]);
    assert.ok(order.indexOf(2) <= 2, order.join());
  });

  it('an account has one piece of work in a thread at a time, however many threads are free', async () => {
    const work = make({ threads: 2, deadlineMs: 300, mostWaiting: 4 });
    const both = Promise.allSettled([work.run('readPolicy', yaml, A), work.run('readPolicy', yaml, A)]);
    assert.equal(work.waiting(), 1);
    await both;
  });

  it('an account has half of the waiting places: 429 for what is beyond, and 503 where no place is left', async () => {
    const work = make({ threads: 1, mostWaiting: 4 });
    const accepted = [A, A, A].map((by) => work.run('readPolicy', yaml, by));
    await assert.rejects(work.run('readPolicy', yaml, A), { status: 429, headers: { 'Retry-After': '5' } });
    accepted.push(...[B, B].map((by) => work.run('readPolicy', yaml, by)));
    await assert.rejects(work.run('readPolicy', yaml, { account: 3, what: 'policy' }), {
      status: 503,
      reason: 'work',
      headers: { 'Retry-After': '5' },
    });
    await Promise.all(accepted);
    assert.deepEqual(
      ended.map(([, outcome]) => outcome),
      ['account-full', 'full', 'done', 'done', 'done', 'done', 'done'],
    );
  });

  it('an account that has used up its burst waits for its next piece, and others do not', async () => {
    // A debt is never over: on a fast machine it would be, before the next piece is refused.
    const paceOf = makePaces({ burstMs: 0, share: 0.002, wait: () => new Promise(() => {}) });
    const work = make({ threads: 1, paceOf, waitMs: 500 });
    // The start of the thread is paid by the one who needs it.
    await work.run('readPolicy', yaml, { ...A, account: 3 });
    await work.run('readPolicy', yaml, A);
    const next = work.run('readPolicy', yaml, A);
    await work.run('readPolicy', yaml, B);
    await assert.rejects(next, { status: 429, message: 'too much work of this account is waiting; try again later' });
  });

  it('close refuses what waits and what is under way', async () => {
    const work = make({ threads: 1 });
    const both = [work.run('readPolicy', slow, A), work.run('readPolicy', yaml, B)];
    work.close();
    for (const { status } of await Promise.allSettled(both)) assert.equal(status, 'rejected');
  });
});
