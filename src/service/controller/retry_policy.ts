/**
 * When an attempt counts as lost, whether its job is retried, and what happens to its runner. Pure. Times that runners
 * use as well (lease, heartbeat, silence) are in bus/messages.ts.
 */
import type { OrderAnswer } from '../../platform/bus/messages.ts';

/** Lost attempts after which a job ends with `RunnerLost`. */
const MAX_LOST = 3;
/** Refused attempts do not count as lost. Beyond this number they do, so that a job cannot be refused forever. */
const MAX_REFUSED = 20;

export type AfterLoss = { retry: true } | { retry: false; error: string };

/**
 * `attempt`: the lost one, from 1. `refusals`: attempts of the job that runners refused. `absences`: those whose runner
 * was not connected, of which many may be away at once; each is asked again only after a heartbeat.
 */
export function afterLoss(attempt: number, refusals: number, absences = 0): AfterLoss {
  const lost = attempt - absences - Math.min(refusals, MAX_REFUSED);
  if (lost < MAX_LOST) return { retry: true };
  return { retry: false, error: `the analysis could not be completed: its runner was lost ${lost} times` };
}

/** Consecutive refusals after which a runner is replaced. */
const MAX_REFUSALS_IN_A_ROW = 3;
/** Half a heartbeat: the next one shows whether the runner is available again. */
const SHUN_MS = 1_000;

/** How long a runner gets no job after this many consecutive refusals. */
export const shunMs = (refusalsInARow: number): number => SHUN_MS * refusalsInARow;

export interface AfterRefusal {
  /** The attempt counts as refused, not as lost. */
  refused: boolean;
  /** Why to end the runner's pod; undefined: the pod is kept. */
  endPod?: 'silent' | 'unfit' | 'refuses';
  /** The runner has seen a newer epoch: it is replaced, unless another leader turns out to exist. */
  replaceIfLeading?: true;
}

/** Decides after a `go` that the runner did not accept. */
export function afterRefusal(
  why: Extract<OrderAnswer, { ok: false }>['why'] | 'silent' | 'absent',
  inARow: number,
): AfterRefusal {
  if (why === 'silent') return { refused: false, endPod: 'silent' };
  if (why === 'tools' || why === 'protocol') return { refused: true, endPod: 'unfit' };
  const refuses = inARow >= MAX_REFUSALS_IN_A_ROW ? { endPod: 'refuses' as const } : {};
  return { refused: true, ...refuses, ...(why === 'epoch' ? { replaceIfLeading: true } : {}) };
}

/** Longer than a lease: by then a deposed leader knows that it was deposed. */
export const EPOCH_PATIENCE_MS = 7_000;
/** A pod without a node by then gets none. Node autoscalers boot a node within minutes, for pods that wait for one. */
export const PENDING_PATIENCE_MS = 600_000;
/** A pod without a heartbeat by then, counted from when it had a node, never starts, unless others were late, too. */
const BOOT_PATIENCE_MS = 90_000;

/**
 * Rounds in a row in which pods of a pool were not up in time, and when the last one was seen. On two cores under load
 * 13 pods started at once, each of them took longer than it may because of the others, and after their end the next 13
 * began. So after each round fewer start at once, and each has more time.
 */
export interface FailedStarts {
  rounds: number;
  at: number;
}
export const NO_FAILED_STARTS: FailedStarts = { rounds: 0, at: Number.NEGATIVE_INFINITY };

/** `createdAt`: of the pod that was not up in time. Those that started beside it are of the same round. */
export const afterFailedStart = (before: FailedStarts, createdAt: number, now: number): FailedStarts =>
  createdAt < before.at ? before : { rounds: before.rounds + 1, at: now };

/** A pod was up within the time that a start takes. */
export const afterQuickStart = ({ rounds, at }: FailedStarts): FailedStarts => ({
  rounds: Math.max(0, rounds - 1),
  at,
});

export const startsAtOnce = (most: number, { rounds }: Pick<FailedStarts, 'rounds'>): number =>
  Math.max(1, Math.floor(most / 2 ** rounds));

export const bootPatienceMs = ({ rounds }: Pick<FailedStarts, 'rounds'>): number =>
  Math.min(PENDING_PATIENCE_MS, BOOT_PATIENCE_MS * 2 ** rounds);
/** A pod of this age that the watch has not shown is not ours. */
export const STRANGER_MS = 30_000;
/** Idle heartbeats after this time mean that the `go` or the run was lost. */
export const IDLE_AFTER_GO_MS = 3_000;
/** After this time, a job whose runner does something else is looked up in Postgres. */
export const END_UNSEEN_MS = 1_500;

/** The runner ends a job at its deadline; this covers a runner that does not. */
const DEADLINE_GRACE_MS = 10_000;

/** From the first admission to the end of a job, including all attempts. */
export const deadlineMs = (timeoutMs: number): number => timeoutMs + DEADLINE_GRACE_MS;
