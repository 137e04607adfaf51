/** What is to happen to a job later. */
import type { Job } from './job.ts';
import { LEASE_LOOK_MS, type Term } from './lease_guard.ts';

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
