/**
 * Who leads, decided from what was seen of a Lease and when; no clock of another machine is believed. Pure: lease.ts
 * acts.
 */
import type { Lease } from './kinds.ts';

export interface LeaseRecord {
  /** Empty: released, or never held. */
  holder: string;
  /** leaseTransitions: one more with each taking. */
  epoch: number;
  durationMs: number;
  renewTime: string | undefined;
  resourceVersion: string;
}

/** A record, and the monotonic time at which we first saw it like this. */
export interface Sighting {
  record: LeaseRecord;
  seenAt: number;
}

export function recordOf(lease: Lease): LeaseRecord {
  const spec = lease.spec;
  return {
    holder: spec?.holderIdentity ?? '',
    epoch: spec?.leaseTransitions ?? 0,
    durationMs: (spec?.leaseDurationSeconds ?? 0) * 1000,
    renewTime: spec?.renewTime,
    resourceVersion: lease.metadata.resourceVersion ?? '0',
  };
}

/**
 * What we know after seeing a record: a holder that renewed has its whole time again from now; anything else, a label
 * say, moves nothing. Answers come out of order (a poll, the watch, our own writes): an older one changes nothing.
 */
export function sight(before: Sighting | undefined, record: LeaseRecord, now: number): Sighting {
  if (before === undefined) return { record, seenAt: now };
  if (Number(record.resourceVersion) < Number(before.record.resourceVersion)) return before;
  const same =
    before.record.holder === record.holder &&
    before.record.epoch === record.epoch &&
    before.record.renewTime === record.renewTime;
  return { record, seenAt: same ? before.seenAt : now };
}

/** Milliseconds until the lease may be taken; 0: now. Whoever holds it may count on the longer of its time and ours. */
export function takeableInMs(sighting: Sighting, identity: string, durationMs: number, now: number): number {
  const { record, seenAt } = sighting;
  if (record.holder === '' || record.holder === identity) return 0;
  return Math.max(0, seenAt + Math.max(durationMs, record.durationMs) - now);
}
