/**
 * A leader acts only while the lease is its own: the term as its parts see it, the wait for a lease that is about to
 * lapse, and timers that check it when they fire.
 */
import { pause } from '../../retry.ts';
import type { Job } from './job.ts';

export interface Term {
  holder: string;
  epoch: number;
  stillLeading(marginMs: number): boolean;
  signal: AbortSignal;
}

/** Server-side bound of a write to a job's status: what has not landed by then never does. */
export const WRITE_MS = 1_500;

/** A look at a lease that has grown old: it may be renewed any moment, or be another's by now. */
const LEASE_LOOK_MS = 50;

/** A renewal that is late is no end of the term: that one tells by its signal. Until either nothing is written. */
export async function leaseSafe(term: Term, marginMs: number): Promise<void> {
  while (!term.signal.aborted && !term.stillLeading(marginMs)) await pause(LEASE_LOOK_MS, term.signal);
}

export function disarm(job: Job): void {
  for (const timer of job.timers) clearTimeout(timer);
  job.timers = [];
}

/**
 * Acts only while the lease is ours: after a pause of the whole process its timers go off before it hears that another
 * leads.
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
