/**
 * Decides who leads, from what was seen of a Lease and when, without relying on another machine's clock. Pure; lease.ts
 * acts on it.
 */
import type { Lease } from './kinds.ts';
import { termsOf, type LeaseTerm } from './lease_terms.ts';

export interface LeaseRecord {
  /** Empty: released, or never held. */
  holder: string;
  /** leaseTransitions: incremented by each acquisition. */
  epoch: number;
  durationMs: number;
  renewTime: string | undefined;
  resourceVersion: string;
  /** The latest first. */
  terms: readonly LeaseTerm[];
}

/** A record, and the monotonic time at which it was first seen in this state. */
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
    terms: termsOf(lease),
  };
}

/**
 * The sighting after reading a record. A renewal restarts the holder's full time; any other change, such as a label,
 * does not. Reads arrive out of order (polls, the watch, our own writes), and an older one is ignored.
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

/** Milliseconds until the lease may be acquired; 0: now. The holder is granted the longer of its duration and ours. */
export function takeableInMs(sighting: Sighting, identity: string, durationMs: number, now: number): number {
  const { record, seenAt } = sighting;
  if (record.holder === '' || record.holder === identity) return 0;
  return Math.max(0, seenAt + Math.max(durationMs, record.durationMs) - now);
}
