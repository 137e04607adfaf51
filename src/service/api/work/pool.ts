/**
 * Runs work that takes long in worker threads, so that it does not hold the event loop of the API. Accounts take turns,
 * each has one piece of work in a thread at a time and at most half of the waiting places, and pays for the time at its
 * pace: what it has used beyond that delays its next piece of work, and nobody else's.
 *
 * A library would bring its own queue, which knows no accounts, and count the start of a thread as part of the work.
 * piscina has a native binary among its dependencies. Threads themselves are src/base/thread.ts.
 */
import { programFile } from '../../../base/program_file.ts';
import type { PaceOf } from '../../result/pace.ts';
import { makeThread, ThreadError, type Thread } from '../../../base/thread.ts';
import { ApiError } from '../errors.ts';
import { IS_SHORT, JOBS, type Input, type JobName, type Output } from './jobs.ts';
import type { PieceOfWork } from './thread.ts';

export type WorkPool = ReturnType<typeof makeWorkPool>;

export interface WorkPoolOptions {
  paceOf: PaceOf;
  threads?: number;
  deadlineMs?: number;
  heapMb?: number;
  mostWaiting?: number;
  waitMs?: number;
  onDone?: (name: JobName, outcome: WorkOutcome, ms: number) => void;
}

export type WorkOutcome = 'done' | ThreadError['code'] | 'account-full' | 'full';

/** The policy of 64 kB that takes longest to read takes 0.4 s on a busy machine. */
const DEADLINE_MS = 2_000;
/** 4 MB of JSON with a value in 4 bytes take 40 MB. */
const HEAP_MB = 64;
/** An answer of 2 MB may be in each. */
const MOST_WAITING = 32;
/** What waits longer is refused. */
const WAIT_MS = 10_000;
const RETRY_AFTER_S = 5;

interface Waiting {
  start: (thread: Thread<PieceOfWork, unknown>) => void;
  refuse: (error: ApiError) => void;
  timer: NodeJS.Timeout;
}

const ACCOUNT_FULL = 'too much work of this account is waiting; try again later';
const accountFull = () => new ApiError('rate-limited', { text: ACCOUNT_FULL, retryAfterS: RETRY_AFTER_S });
const allFull = () => new ApiError('unavailable', { reason: 'work' });

function refusalOf(error: unknown, what: string, deadlineMs: number): unknown {
  if (!(error instanceof ThreadError)) return error;
  const text = {
    late: `${what}: took longer than ${deadlineMs / 1000} s to process`,
    'out-of-memory': `${what}: needs more memory to process than is accepted`,
    crashed: undefined,
    closed: undefined,
  }[error.code];
  if (text !== undefined) return new ApiError('invalid-field', { text, field: what });
  return error.code === 'closed' ? new ApiError('draining') : error;
}

/** `threads`: those that are free. An account is in `busy` while it has work in one, or has to wait for its pace. */
function makeAccountTurns(threads: Thread<PieceOfWork, unknown>[], mostWaiting: number, waitMs: number) {
  const queues = new Map<number, Waiting[]>();
  const busy = new Set<number>();
  let count = 0;

  const remove = (account: number, one: Waiting): void => {
    const queue = queues.get(account) ?? [];
    const left = queue.filter((other) => other !== one);
    count -= queue.length - left.length;
    if (left.length === 0) queues.delete(account);
    else queues.set(account, left);
  };

  function next(): void {
    for (const [account, [first]] of queues) {
      if (threads.length === 0) return;
      if (busy.has(account)) continue;
      clearTimeout(first!.timer);
      remove(account, first!);
      // Behind the other accounts.
      const left = queues.get(account);
      if (left && queues.delete(account)) queues.set(account, left);
      busy.add(account);
      first!.start(threads.pop()!);
    }
  }

  return {
    waiting: () => count,
    take: (account: number): Promise<Thread<PieceOfWork, unknown>> =>
      new Promise((resolve, reject) => {
        const own = queues.get(account) ?? [];
        if (own.length >= mostWaiting / 2) return reject(accountFull());
        if (count >= mostWaiting) return reject(allFull());
        const timer = setTimeout(() => {
          remove(account, one);
          reject(busy.has(account) ? accountFull() : allFull());
        }, waitMs);
        const one: Waiting = { start: resolve, refuse: reject, timer };
        queues.set(account, [...own, one]);
        count += 1;
        next();
      }),
    giveBack(thread: Thread<PieceOfWork, unknown>): void {
      threads.push(thread);
      next();
    },
    paid(account: number): void {
      busy.delete(account);
      next();
    },
    close(): void {
      for (const { refuse, timer } of [...queues.values()].flat()) {
        clearTimeout(timer);
        refuse(new ApiError('draining'));
      }
      queues.clear();
    },
  };
}

export function makeWorkPool({
  paceOf,
  threads: size = 2,
  deadlineMs = DEADLINE_MS,
  heapMb = HEAP_MB,
  mostWaiting = MOST_WAITING,
  waitMs = WAIT_MS,
  onDone,
}: WorkPoolOptions) {
  const file = programFile('work_thread');
  const threads = Array.from({ length: size }, () => makeThread<PieceOfWork, unknown>(file, { deadlineMs, heapMb }));
  const turns = makeAccountTurns([...threads], mostWaiting, waitMs);

  async function inThread(work: PieceOfWork, account: number, what: string): Promise<unknown> {
    const thread = await turns.take(account).catch((error: ApiError) => {
      onDone?.(work.name, error.code === 'rate-limited' ? 'account-full' : 'full', 0);
      throw error;
    });
    const began = performance.now();
    let outcome: WorkOutcome = 'done';
    try {
      return await thread.run(work);
    } catch (error) {
      if (error instanceof ThreadError) outcome = error.code;
      throw refusalOf(error, what, deadlineMs);
    } finally {
      const ms = performance.now() - began;
      onDone?.(work.name, outcome, ms);
      turns.giveBack(thread);
      // The caller has the answer, and its account waits.
      void Promise.resolve(paceOf(account)(ms)).finally(() => turns.paid(account));
    }
  }

  async function inPlace(name: JobName, input: unknown, account: number): Promise<unknown> {
    const began = performance.now();
    try {
      return (JOBS[name] as (given: unknown) => unknown)(input);
    } finally {
      await paceOf(account)(performance.now() - began);
    }
  }

  return {
    /** `what`: the field or thing that the caller sent, for the error if it takes too long. */
    run: <N extends JobName>(name: N, input: Input<N>, { account, what }: { account: number; what: string }) =>
      (IS_SHORT[name](input)
        ? inPlace(name, input, account)
        : inThread({ name, input } as PieceOfWork, account, what)) as Promise<Output<N>>,
    waiting: turns.waiting,
    close(): void {
      turns.close();
      for (const thread of threads) thread.close();
    },
  };
}
