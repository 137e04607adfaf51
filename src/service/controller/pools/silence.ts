/** From when a runner's silence counts, and when it has been silent for too long. Pure. */
import type { Runner } from './runners.ts';

type Heard = Pick<Runner, 'life' | 'seenAt' | 'scheduledAt' | 'createdAt' | 'shunnedUntil'>;

interface Patience {
  silenceMs: number;
  bootMs: number;
  pendingMs: number;
}

/** Its heartbeats stopped, it never sent one, or its pod never got a node. */
export function isSilent(
  { life, seenAt, scheduledAt, createdAt }: Heard,
  now: number,
  { silenceMs, bootMs, pendingMs }: Patience,
): boolean {
  if (seenAt !== undefined) return now - seenAt > silenceMs;
  // Nothing has to be pulled or mounted.
  if (life > 0 && scheduledAt !== undefined) return now - scheduledAt > silenceMs;
  return scheduledAt === undefined ? now - createdAt > pendingMs : now - scheduledAt > bootMs;
}

/** It cannot be heard now: its silence counts from here, and it gets no job until its next heartbeat. */
export const notHeard = ({ life, seenAt, scheduledAt, shunnedUntil }: Heard, now: number): Partial<Heard> => ({
  ...(seenAt !== undefined ? { seenAt: now } : life > 0 && scheduledAt !== undefined ? { scheduledAt: now } : {}),
  shunnedUntil: Math.max(shunnedUntil, now),
});
