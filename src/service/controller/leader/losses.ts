/** Attempts that are lost with their runner: heartbeats, silent runners, deleted pods. */
import type { BusStatus } from '../../../platform/bus/connect.ts';
import {
  RUNNER_PROTOCOL,
  RUNNER_SILENCE_MS,
  SUBJECT,
  TASK_LEASE_MS,
  type Heartbeat,
  type Lease as TaskLease,
} from '../../../platform/bus/messages.ts';
import { requestFields, runnerFields } from '../../../base/log.ts';
import type { LossCause } from '../metrics.ts';
import type { LostTask, Runner } from '../pools/runners.ts';
import {
  END_UNSEEN_MS,
  EPOCH_PATIENCE_MS,
  IDLE_AFTER_GO_MS,
  PENDING_PATIENCE_MS,
  STRANGER_MS,
  afterLoss,
} from '../retry_policy.ts';
import { attemptEnded, chunkLost } from './chunk.ts';
import { recordedEnd } from './ends.ts';
import { stateOf, type EventOf, type Job } from './job.ts';
import { noteProgress } from './progress.ts';
import { explain } from './waiting.ts';
import { now, type TermState } from './term_state.ts';

/** The attempt was lost, not because of the source or the tools. */
export async function lost(
  state: TermState,
  job: Job,
  attempt: number,
  { cause, why }: { cause: LossCause; why: string },
): Promise<void> {
  if (!state.live || job.attempt !== attempt || job.state !== 'running') return;
  // Its end is being recorded, and the chunk goes on then.
  if (job.chunk?.cancelled.has(attempt)) return;
  const named = { ...requestFields({ id: job.id, job: job.key }), ...runnerFields(job.runner) };
  state.deps.log.warn({ ...named, attempt, cause, why }, 'attempt lost');
  await state.move(job, { is: 'lost', cause, why });
}

/** The job is repeated on another runner, or ends after some attempts. */
export async function lookUpEnd(state: TermState, job: Job, event: EventOf<'lost'>): Promise<void> {
  const { attempt } = job;
  const { cause, why } = event;
  // The result may have been recorded just before the runner was lost.
  const [recorded] = await state.deps.store.endsFor([job.id]).catch(() => []);
  if (stateOf(job) !== 'lost') return;
  if (recorded) return attemptEnded(state, job, recordedEnd(recorded));
  if (job.chunk) return chunkLost(state, job, event);
  const next = afterLoss(attempt, job.refusals, job.absences);
  if (!next.retry) {
    return state.move(job, { is: 'ended', end: { status: 500, reason: 'RunnerLost', error: next.error } });
  }
  state.deps.metrics.retried(job.pool, cause);
  explain(state.deps.events, job, 'Retrying', `attempt ${attempt} was lost and will be retried: ${why}`);
  await state.move(job, { is: 'retry' });
}

export const POD_GONE = { cause: 'pod-gone', why: 'its runner pod no longer exists' } as const;
const NO_RESULT = { cause: 'no-result', why: 'the runner sent no result' } as const;

/** A pod was deleted together with its task, or stopped sending heartbeats. */
export function podGone(state: TermState, task: LostTask, cause: 'pod-gone' | 'silent' = 'pod-gone'): void {
  const job = state.jobs.taken(task.job);
  // A pod may have claimed a job of another runner.
  if (job?.runner?.uid === task.uid) void lost(state, job, task.attempt, { ...POD_GONE, cause });
}

export function heartbeat(state: TermState, beat: Heartbeat): TaskLease {
  const { runners, term, pools } = state.deps;
  const { freed, idleWithTask } = runners.heartbeat(beat, now());
  const runner = runners.get(beat.uid);
  if (runner && !runner.deleting && beat.epoch > term.epoch) replaceIfLeading(state, beat.uid);
  let released = false;
  if (idleWithTask) {
    // The runner was ordered to start, and some heartbeats later still reports nothing: the order or the run was lost.
    const job = state.jobs.taken(idleWithTask.job);
    if (!job || job.state === 'ending' || job.attempt !== idleWithTask.attempt || job.runner?.uid !== beat.uid) {
      runners.release(beat.uid, idleWithTask.job, now());
      released = true;
    } else if (job.state === 'running' && now() - job.goAt > IDLE_AFTER_GO_MS)
      void lost(state, job, idleWithTask.attempt, {
        cause: 'idle',
        why: 'the runner reports that it does not run the job',
      });
  }
  if (freed || released) {
    const pool = runner?.pool ?? beat.pool;
    pools.noticeFree(pool, runner);
    state.schedule(pool);
  } else if (runner && (runner.phase === 'draining' || runner.protocol !== RUNNER_PROTOCOL)) {
    leftBy(state, runner);
    pools.demandChanged(runner.pool);
  }
  const record = beat.job === undefined ? undefined : state.jobs.get(beat.job);
  const job = beat.job === undefined ? undefined : state.jobs.taken(beat.job);
  const unknown = beat.job !== undefined && (record === undefined || record.state === 'refused');
  const former = job !== undefined && (job.attempt !== beat.attempt || job.runner?.uid !== beat.uid);
  if (job?.state === 'running' && !former && beat.progress !== undefined) void noteProgress(state, job, beat.progress);
  return {
    epoch: term.epoch,
    leaseMs: TASK_LEASE_MS,
    // A pod that the watch has not shown yet may be new. One that it never shows is not ours.
    ...((runner === undefined && beat.ageMs > STRANGER_MS) || runner?.deleting ? { drain: true } : {}),
    // The ProbeJob no longer exists, or runs another attempt: the result is not needed.
    ...(state.ready && beat.phase === 'running' && (unknown || former)
      ? { cancel: { job: beat.job ?? '', attempt: beat.attempt ?? 0 } }
      : {}),
  };
}

/**
 * The runner has seen a newer epoch. Either another leader exists and this term ends with its lease within moments, or
 * none does and the runner would refuse every order.
 */
export function replaceIfLeading(state: TermState, uid: string): void {
  const { runners, pools, term } = state.deps;
  runners.refused(uid, now());
  setTimeout(() => {
    if (state.live && term.stillLeading(0)) pools.endPod(uid, 'epoch');
  }, EPOCH_PATIENCE_MS).unref();
}

/**
 * The connection to NATS was lost, or is there again. While it is away no runner can be heard, so its silence counts
 * from then on, and it gets no order before it was heard again: it may be connected later than this replica.
 */
export function connectionChanged(state: TermState, status: BusStatus): void {
  const { runners, bus, term } = state.deps;
  runners.unheard(now());
  if (status === 'connected') bus.publish(SUBJECT.report, { epoch: term.epoch });
}

/** Of a chunk, it may have ended the item. */
const isAtWork = (runner: Runner | undefined, { key }: Job): boolean =>
  runner?.task?.job === key && !(runner.task.isKept && runner.jobsDone > runner.task.doneBefore);

/** Nobody ordered the next item of a chunk that this leader found: its runner, as it says itself, waits. */
const isLeft = ({ seenAt = 0, idleSince }: Runner, { chunk, goAt }: Job): boolean =>
  chunk?.isFound === true && seenAt > goAt && now() - idleSince > END_UNSEEN_MS;

/** Of a chunk that this leader found, on a runner that drains and has nothing left: its pod is about to end. */
export function leftBy(state: TermState, { phase, task, uid }: Runner): void {
  if (phase !== 'draining' || task) return;
  for (const job of state.jobs.allTaken())
    if (job.chunk?.isFound && job.runner?.uid === uid) void lost(state, job, job.attempt, NO_RESULT);
}

/** Once a second: checks for losses that cause no event. */
export async function tick(state: TermState): Promise<void> {
  // After a pause of the whole process all runners seem silent. Without the lease, that decision belongs to another
  // leader.
  if (!state.ready || !state.live || !state.deps.term.stillLeading(0)) return;
  const { runners, pools, store, log, bus } = state.deps;
  const bootMs = (pool: string): number => pools.bootPatienceMs(pool);
  const silent = bus.connected() ? runners.silent(now(), RUNNER_SILENCE_MS, bootMs, PENDING_PATIENCE_MS) : [];
  for (const runner of silent) {
    if (runner.task) podGone(state, { ...runner.task, uid: runner.uid }, 'silent');
    // A pod on a dead node stays in deletion for minutes; its job must not wait for that.
    if (runner.deleting) continue;
    log.warn(
      runnerFields(runner),
      runner.seenAt === undefined ? 'runner did not start in time' : 'runner stopped sending heartbeats',
    );
    pools.endPod(runner.uid, runner.seenAt === undefined ? 'never-ready' : 'silent');
  }
  const unsure: Job[] = [];
  for (const job of state.jobs.allTaken()) {
    if (job.state !== 'running') continue;
    const runner = job.runner && runners.get(job.runner.uid);
    // The runner does something else and no notice arrived, or this leader never saw its pod.
    if (!isAtWork(runner, job) && now() - job.goAt > END_UNSEEN_MS) unsure.push(job);
  }
  if (unsure.length === 0) return;
  const ends = new Map((await store.endsFor(unsure.map(({ id }) => id))).map((end) => [end.id, end]));
  for (const job of unsure) {
    const end = ends.get(job.id);
    // A chunk may wait for its turn then.
    if (end) void attemptEnded(state, job, recordedEnd(end));
    else if (job.state === 'running') {
      const runner = job.runner && runners.get(job.runner.uid);
      // A runner that has just become free may still be waiting for its result to be collected.
      if (!runner || now() - job.goAt > RUNNER_SILENCE_MS || isLeft(runner, job))
        await lost(state, job, job.attempt, runner ? NO_RESULT : POD_GONE);
    }
  }
}
