/**
 * Ensures that a leader acts only while it holds the lease: the term as its parts see it, the wait for a renewal, and
 * timers that check the lease when they fire.
 */
import { pause } from '../../../base/retry.ts';
import type { Job } from './job.ts';

export interface Term {
  holder: string;
  epoch: number;
  stillLeading(marginMs: number): boolean;
  signal: AbortSignal;
}

/** Polling interval for an old lease, which may be renewed at any moment, or lost to another replica. */
const LEASE_LOOK_MS = 50;

/** Waits for a late renewal, which does not end the term; `signal` does. Nothing is written until either happens. */
export async function leaseSafe(term: Term, marginMs: number): Promise<void> {
  while (!term.signal.aborted && !term.stillLeading(marginMs)) await pause(LEASE_LOOK_MS, term.signal);
}

class TermOver extends Error {
  readonly code = 'term-over';
}

/** As leaseSafe, and rejects once the term is over: before each of the calls of a sequence that only a leader makes. */
export async function ensureLeading(term: Term): Promise<void> {
  await leaseSafe(term, 0);
  if (term.signal.aborted) throw new TermOver(`term ${term.epoch} is over`);
}

/** The outcome of a step of a term's start; rejects at once when the term ends, whatever becomes of the step. */
export async function whileLeading<T>(term: Term, step: Promise<T>): Promise<T> {
  const over = Promise.withResolvers<void>();
  const end = (): void => over.resolve();
  term.signal.addEventListener('abort', end);
  try {
    if (!term.signal.aborted) await Promise.race([over.promise, step]);
    await ensureLeading(term);
    return await step;
  } finally {
    term.signal.removeEventListener('abort', end);
    step.catch(() => {});
  }
}

export function disarm(job: Job): void {
  for (const timer of job.timers) clearTimeout(timer);
  job.timers = [];
}

/**
 * A timer that acts only while the lease is held: after a pause of the whole process, timers fire before the process
 * learns of a new leader.
 */
export function later(term: Term, job: Job, ms: number, act: () => void): void {
  job.timers.push(
    setTimeout(() => {
      if (term.signal.aborted || job.state === 'ending') return;
      if (term.stillLeading(0)) act();
      else later(term, job, LEASE_LOOK_MS, act);
    }, ms),
  );
}
