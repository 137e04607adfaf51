/**
 * When an attempt counts as lost, whether its job is tried again, and what becomes of its runner. Pure. The times that
 * runners go by as well (lease, heartbeat, silence) are in bus/messages.ts.
 */
import type { OrderAnswer } from '../bus/messages.ts';

/** Lost attempts of a job, after which it ends with `RunnerLost`. */
const MAX_LOST = 3;
/** Attempts that a runner refused are not lost; beyond this number they count, or a job could be refused for ever. */
const MAX_REFUSED = 20;

export type AfterLoss = { retry: true } | { retry: false; error: string };

/** `attempt`: the one that was lost, from 1. `refusals`: attempts of the job that runners refused. */
export function afterLoss(attempt: number, refusals: number): AfterLoss {
  const lost = attempt - Math.min(refusals, MAX_REFUSED);
  if (lost < MAX_LOST) return { retry: true };
  return { retry: false, error: `the analysis could not be completed: its runner was lost ${lost} times` };
}

/** A runner that refuses so many jobs in a row is replaced. */
const MAX_REFUSALS_IN_A_ROW = 3;
/** Half a heartbeat: the next one shows whether the runner serves again. */
const SHUN_MS = 1_000;

/** How long a runner gets no job after so many refusals in a row. */
export const shunMs = (refusalsInARow: number): number => SHUN_MS * refusalsInARow;

export interface AfterRefusal {
  /** The attempt counts as refused, and not as lost. */
  refused: boolean;
  /** Why the runner's pod ends; undefined: it stays. */
  endPod?: 'silent' | 'unfit' | 'refuses';
  /** The runner has seen a newer epoch: it is replaced, unless another leader is found to exist. */
  replaceIfLeading?: true;
}

/** After an order to go that the runner did not accept. */
export function afterRefusal(why: Extract<OrderAnswer, { ok: false }>['why'] | 'silent', inARow: number): AfterRefusal {
  if (why === 'silent') return { refused: false, endPod: 'silent' };
  if (why === 'tools' || why === 'protocol') return { refused: true, endPod: 'unfit' };
  const refuses = inARow >= MAX_REFUSALS_IN_A_ROW ? { endPod: 'refuses' as const } : {};
  return { refused: true, ...refuses, ...(why === 'epoch' ? { replaceIfLeading: true } : {}) };
}

/** Longer than a lease: by then a deposed leader knows that it was deposed. */
export const EPOCH_PATIENCE_MS = 7_000;
/** A pod that has sent no heartbeat by then never comes up. */
export const BOOT_PATIENCE_MS = 90_000;
/** A pod that the watch has not shown by this age belongs to nobody. */
export const STRANGER_MS = 30_000;
/** Idle heartbeats after this mean that the order to go, or the run, was lost on the way. */
export const IDLE_AFTER_GO_MS = 3_000;
/** After this, a job whose runner has turned to something else is looked up in Postgres. */
export const END_UNSEEN_MS = 1_500;

/** The runner ends a job at its deadline; this is for one that does not. */
const DEADLINE_GRACE_MS = 10_000;

/** From the first admission to the end of a job, attempts included. */
export const deadlineMs = (timeoutMs: number): number => timeoutMs + DEADLINE_GRACE_MS;
