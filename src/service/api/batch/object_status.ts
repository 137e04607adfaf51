/** What the status of a ProbeBatch says, from its batch or from why there is none. */
import { isFinished, stamp, withTimes } from '../../../platform/kube/conditions.ts';
import type { ProbeBatch, ProbeBatchState, ProbeBatchStatus } from '../../../platform/kube/probe_batch.ts';
import type { Batch, BatchState } from '../../../platform/store/batches.ts';
import type { Standing as StandingIn } from '../objects/followed_objects.ts';
import { progressOf } from './batch_endpoints.ts';
import { textOfStop } from './states.ts';

/** `reason` and `message` are those of its condition Succeeded. */
export type Standing = StandingIn<ProbeBatchState>;

const OF_STATE: Record<Exclude<BatchState, 'ended' | 'stopped'>, Standing> = {
  running: { state: 'Running', reason: 'Running', message: 'items are begun' },
  paused: { state: 'Suspended', reason: 'Suspended', message: 'the batch is paused' },
  cancelling: { state: 'Cancelling', reason: 'Cancelling', message: 'what runs is cancelled, what waits is skipped' },
};

const ENDS = ['Completed', 'Cancelled', 'DeadlineExceeded'] as const;

function endOf({ reason, counts }: Batch): Standing {
  const state = ENDS.find((end) => end === reason) ?? 'Cancelled';
  const { success, skipped } = counts;
  const message = `${success} items succeeded, ${failedOf(counts)} failed, ${skipped} were skipped`;
  return { state, reason: state, message };
}

export function standingOf(batch: Batch): Standing {
  const { state, reason } = batch;
  if (state === 'ended') return endOf(batch);
  if (state !== 'stopped') return OF_STATE[state];
  return { state: 'Stopped', reason: reason ?? 'Stopped', message: textOfStop(reason) ?? 'the batch has stopped' };
}

const SUCCEEDED: Partial<Record<ProbeBatchState, 'True' | 'False'>> = {
  Completed: 'True',
  Cancelled: 'False',
  DeadlineExceeded: 'False',
  Refused: 'False',
};

const failedOf = (counts: Batch['counts']): number => counts.error + counts['with-errors'];

function progress(batch: Batch, now: number): Partial<ProbeBatchStatus> {
  const { id, items: total, counts, createdAt, endedAt } = batch;
  const { running, skipped, waiting } = counts;
  const done = total - waiting - running;
  return {
    id,
    total,
    done,
    failed: failedOf(counts),
    progress: Math.floor((100 * done) / Math.max(1, total)),
    running,
    skipped,
    perMinute: progressOf(batch, now).perMinute ?? 0,
    startedAt: stamp(createdAt.getTime()),
    ...(endedAt ? { completedAt: stamp(endedAt.getTime()) } : {}),
  };
}

/** Members that a status may lack. A patch removes one by null. */
const ABSENT = { id: null, progress: null, running: null, skipped: null, perMinute: null, startedAt: null };

/** As it was, where an object is over and its batch is not on record any more. */
const without = (object: ProbeBatch): object =>
  isFinished(object.status) ? {} : { ...ABSENT, total: 0, done: 0, failed: 0 };

/** `held`: why nothing may run now. */
export function statusOf(
  object: ProbeBatch,
  standing: Standing,
  { batch, held, now }: { batch: Batch | undefined; held: Standing | null; now: number },
) {
  const { metadata, status } = object;
  const { generation: observedGeneration = 0 } = metadata;
  const { state, reason, message } = standing;
  const succeeded = SUCCEEDED[state] ?? 'Unknown';
  const suspended = held
    ? { status: 'True' as const, reason: held.reason, message: held.message }
    : { status: 'False' as const, reason: 'NotSuspended', message: 'items may be begun' };
  const conditions = withTimes(
    status,
    [
      { type: 'Succeeded', status: succeeded, reason, message: message.slice(0, 4_096), observedGeneration },
      { type: 'Suspended', ...suspended, observedGeneration },
    ],
    stamp(now),
  );
  return {
    state,
    observedGeneration,
    conditions,
    ...(batch ? { ...ABSENT, ...progress(batch, now) } : without(object)),
    ...(succeeded === 'Unknown' || batch ? {} : { completedAt: status?.completedAt ?? stamp(now) }),
  };
}
