/** The term of a leader as those see it who act in it, and how they wait for a lease that has grown old. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Term {
  holder: string;
  epoch: number;
  stillLeading(marginMs: number): boolean;
  signal: AbortSignal;
}

/** Server-side bound of a write to a job's status: what has not landed by then never does. */
export const WRITE_MS = 1_500;

/** A look at a lease that has grown old: it may be renewed any moment, or be another's by now. */
export const LEASE_LOOK_MS = 50;

/** A renewal that is late is no end of the term: that one tells by its signal. Until either nothing is written. */
export async function leaseSafe(term: Term, marginMs: number): Promise<void> {
  while (!term.signal.aborted && !term.stillLeading(marginMs)) await delay(LEASE_LOOK_MS);
}
