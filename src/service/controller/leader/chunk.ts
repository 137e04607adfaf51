/**
 * A chunk: several items of a batch in one ProbeJob. It is admitted once, and its runner reads them one after the
 * other: each item is an attempt, with a request of its own, that ends as any other. The chunk ends with its last item,
 * with an item that ends without a result, or when it has to give way. What it did not come to goes back to its batch.
 */
import { requestFields } from '../../../base/log.ts';
import { pause, retry } from '../../../base/retry.ts';
import type { ProbeJob, Reason } from '../../../platform/kube/probe_job.ts';
import { placeInChunk, requestOfChunk } from '../../../platform/store/uuid.ts';
import { isForOneJob } from '../pools/share.ts';
import { requestOf, stateOf, submittedAtOf, type Chunk, type End, type EventOf, type Job } from './job.ts';
import type { JobEnd } from './job_status.ts';
import { disarm } from './lease_guard.ts';
import { waitMs } from './orders.ts';
import { refusalOf } from './resolve_job.ts';
import { now, type TermState, type TermStateDeps } from './term_state.ts';

/** A chunk that ran for this time begins no other item. */
const LONGEST_MS = 30_000;
/** How long it runs before another account's batch may have its runner, and before somebody who waits may. */
const TURN_MS = 10_000;
const LEAST_MS = 1_000;
/** There is no write between two items that the API server would refuse a deposed leader. */
export const LEASE_MARGIN_MS = 2_000;
/** How often the record is asked whether the requests of a chunk are wanted: its batch may be paused or cancelled. */
const ASK_MS = 1_000;

/** The place of the next item that is not cancelled, or one that there is not. */
function nextPlace({ attempt }: Job, { cancelled }: Chunk): number {
  let place = attempt + 1;
  while (cancelled.has(place)) place += 1;
  return place;
}

export function nextItem(state: TermState, job: Job): void {
  const { chunk, attempt } = job;
  const place = chunk ? nextPlace(job, chunk) : 0;
  const source = chunk?.sources[place - 1];
  if (!chunk || !source) throw new Error('a job without a next item cannot go on');
  job.attempt = place;
  job.id = requestOfChunk(job.key, place);
  job.assignment = { ...job.assignment, source };
  chunk.itemBeganAt = state.deps.store.clock.now();
  const runner = job.runner && state.deps.runners.get(job.runner.uid);
  if (runner) state.deps.runners.goOn(runner, place, !chunk.cancelled.has(attempt));
}

/** An end of the attempt that runs is recorded. */
export const attemptEnded = (state: TermState, job: Job, end: JobEnd): Promise<void> =>
  state.alone(job, () => takeEnd(state, job, end));

async function takeEnd(state: TermState, job: Job, end: JobEnd): Promise<void> {
  const runner = job.runner && state.deps.runners.get(job.runner.uid);
  if (runner && !job.background) state.pace.callerSeen(runner, now());
  if (!job.chunk) return state.move(job, { is: 'recorded', end });
  const { attempt, chunk } = job;
  // Of the same end there may be several notices, and this one waits for its turn.
  if (chunk.endedAttempt === attempt) return;
  chunk.endedAttempt = attempt;
  const goesOn = stateOf(job) === 'running' && (await mayGoOn(state, job));
  if (job.attempt !== attempt) return;
  if (goesOn && stateOf(job) === 'running') return state.move(job, { is: 'passed' });
  const summary = `${attempt} of ${chunk.sources.length} sources were read`;
  await state.move(job, { is: 'recorded', end: { reason: 'Completed', summary, tools: [] } });
}

async function mayGoOn(state: TermState, job: Job): Promise<boolean> {
  const { chunk } = job;
  if (!chunk || chunk.isFound) return false;
  // The item was cancelled, and its runner may still run it.
  const said = await job.stopped;
  if (said && !said.ok) return false;
  if (nextPlace(job, chunk) > chunk.sources.length || !(await waitForTurn(state, job))) return false;
  const place = nextPlace(job, chunk);
  if (place > chunk.sources.length) return false;
  if (!chunk.asked || now() - chunk.asked.at >= ASK_MS)
    chunk.asked = { at: now(), answer: isWanted(state, job, place) };
  if (!(await chunk.asked.answer)) return false;
  // The next item may have been cancelled meanwhile, and the one after it.
  return nextPlace(job, chunk) <= chunk.sources.length && !givesWay(state, job);
}

/** False: it gives way meanwhile. */
async function waitForTurn(state: TermState, job: Job): Promise<boolean> {
  // Its end is recorded: it cannot time out any more.
  disarm(job);
  try {
    for (;;) {
      const runner = job.runner && state.deps.runners.get(job.runner.uid);
      const ms = runner ? waitMs(state, job, runner) : 0;
      if (ms === 0) return true;
      await pause(ms);
      if (stateOf(job) !== 'running' || givesWay(state, job)) return false;
    }
  } finally {
    state.pace.forget(job.key);
  }
}

/** Whether the record wants the next request of a chunk. */
async function isWanted(state: TermState, { id, key, submittedAt }: Job, place: number): Promise<boolean> {
  try {
    const ids = [requestOfChunk(key, place)];
    return (await state.deps.store.openOfChunk({ ids, submittedAt }))?.isWanted === true;
  } catch (error) {
    state.deps.log.warn({ err: error, ...requestFields({ id, job: key }) }, 'cannot look up a chunk');
    return false;
  }
}

/** Whether a chunk has to leave its slot or its runner to others. */
function givesWay(state: TermState, job: Job): boolean {
  const { runners, pools, store, term } = state.deps;
  const runner = job.runner && runners.get(job.runner.uid);
  if (!runner || runner.task?.job !== job.key || runner.deleting || runner.renewing) return true;
  if (runner.phase === 'draining' || isForOneJob(job.tenant) || pools.isWorn(runner)) return true;
  if (!term.stillLeading(LEASE_MARGIN_MS) || refusalOf(state.tokens.known(job.token), store.clock.now())) return true;
  const ranMs = store.clock.now() - Date.parse(job.status?.startedAt ?? '');
  return ranMs > LONGEST_MS || isOverLimit(state, job) || (ranMs > LEAST_MS && othersWait(state, job, ranMs));
}

/** A limit was lowered. */
function isOverLimit({ ledger }: TermState, { token, account }: Job): boolean {
  return [ledger.token(token), ledger.account(account)].some(({ held, limit }) => held > limit);
}

function othersWait({ ledger }: TermState, { pool, token, account }: Job, ranMs: number): boolean {
  for (const head of ledger.heads(pool, ranMs > TURN_MS)) if (!head.background || head.account !== account) return true;
  const isFull = ({ held, limit }: { held: number; limit: number }): boolean => held >= limit;
  const fullToken = isFull(ledger.token(token));
  const fullAccount = isFull(ledger.account(account));
  if (!fullToken && !fullAccount) return false;
  for (const front of ledger.fronts())
    if (!front.background && ((fullToken && front.token === token) || (fullAccount && front.account === account)))
      return true;
  return false;
}

/** Its runner certainly did not begin the item. */
const NOT_BEGUN: readonly EventOf<'lost'>['cause'][] = ['absent', 'refused', 'policy'];

/** A chunk is not repeated: its batch begins again what has no result. */
export async function chunkLost(state: TermState, job: Job, { cause, why }: EventOf<'lost'>): Promise<void> {
  if (NOT_BEGUN.includes(cause) || (job.chunk?.isFound && cause === 'no-result')) {
    const summary = `${why}; the requests begin again`;
    return state.move(job, { is: 'recorded', end: { reason: 'Cancelled', summary, tools: [] } });
  }
  const end: End = {
    status: 500,
    reason: 'RunnerLost',
    error: 'the analysis could not be completed: its runner was lost',
  };
  await state.move(job, { is: 'ended', end });
}

/**
 * Of a chunk that an earlier leader admitted: the first request without an end is the one that runs, or that would have
 * run next.
 */
export async function findItem({ deps }: Pick<TermState, 'deps'>, job: Job): Promise<void> {
  const { chunk, submittedAt } = job;
  if (!chunk) return;
  const first = await deps.store.openOfChunk({ ids: idsFrom(job, 1), submittedAt });
  job.attempt = first ? placeInChunk(first.id) : chunk.sources.length;
  job.id = requestOfChunk(job.key, job.attempt);
  job.assignment = { ...job.assignment, source: chunk.sources[job.attempt - 1]! };
  chunk.itemBeganAt = deps.store.clock.now();
  chunk.isFound = true;
}

// What a chunk did not come to.

const idsFrom = ({ key, chunk }: Pick<Job, 'key' | 'chunk'>, place: number): string[] =>
  Array.from({ length: (chunk?.sources.length ?? 0) - place + 1 }, (_, at) => requestOfChunk(key, place + at));

/** They would not run at once. */
const LATER_MS: Partial<Record<Reason, number>> = { QueueTimeout: 30_000, QueueFull: 30_000, Cancelled: 1_000 };
const PAUSES = { first: 50, longest: 2_000 };

type ReturnDeps = Pick<TermStateDeps, 'store' | 'log' | 'term'>;

/** Retries until Postgres answers or the term ends: the sweep would end what is left as if it had run. */
async function giveBack(
  { store, log, term: { signal } }: ReturnDeps,
  rest: { ids: string[]; submittedAt: Date },
  reason: Reason,
): Promise<void> {
  const afterMs = LATER_MS[reason] ?? 0;
  if (rest.ids.length === 0 || signal.aborted) return;
  await retry(() => store.returnItems({ ...rest, afterMs }), {
    ...PAUSES,
    signal,
    onRetry: (error) => log.warn({ err: error }, 'cannot return the items of a chunk, will retry'),
  }).catch(() => {});
}

/** The chunk has ended, and perhaps not the last item that it came to. What is cancelled does not wait again. */
export async function returnRest(state: TermState, job: Job, reason: Reason): Promise<void> {
  await Promise.all(job.chunk?.cancelled.values() ?? []);
  await giveBack(state.deps, { ids: idsFrom(job, Math.max(1, job.attempt)), submittedAt: job.submittedAt }, reason);
  if (job.runner) state.deps.runners.release(job.runner.uid, job.key, now());
  state.schedule(job.pool);
}

/** Of a chunk that was never taken in. */
export function returnItemsOf(deps: ReturnDeps, object: ProbeJob, reason: Reason): Promise<void> {
  const { items = 0 } = object.spec;
  const ids = Array.from({ length: items }, (_, at) => requestOf(object, at + 1));
  return giveBack(deps, { ids, submittedAt: submittedAtOf(object) }, reason);
}
