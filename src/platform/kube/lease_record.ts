/**
 * What a Lease says: who leads, decided from what was seen of it and when, without relying on another machine's clock;
 * and the last terms of its holders. Pure; lease.ts acts on it.
 */
import { GROUP } from './resource.ts';
import type { Lease } from './kinds.ts';

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

/** The last terms, in an annotation, so that they outlive the pods that wrote them. */
export const TERMS_ANNOTATION = `${GROUP}/terms`;
const MOST_TERMS = 10;
/** Ten with the longest names of pods. */
const MOST_CHARACTERS = 4_096;
const POD = /^[a-z0-9][a-z0-9.-]{0,252}$/;

export interface LeaseTerm {
  pod: string;
  epoch: number;
  /** When it was acquired. */
  since: string;
}

function isTerm(value: unknown): value is LeaseTerm {
  if (typeof value !== 'object' || value === null) return false;
  const { pod, epoch, since } = value as Record<string, unknown>;
  return (
    typeof pod === 'string' &&
    POD.test(pod) &&
    Number.isSafeInteger(epoch) &&
    (epoch as number) > 0 &&
    typeof since === 'string' &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/.test(since) &&
    !Number.isNaN(Date.parse(since))
  );
}

/** The latest first. Whoever may write the Lease may write anything there: what is not a term is left out. */
export function termsOf({ metadata }: Pick<Lease, 'metadata'>): LeaseTerm[] {
  const text = metadata.annotations?.[TERMS_ANNOTATION] ?? '';
  if (text === '' || text.length > MOST_CHARACTERS) return [];
  try {
    const all: unknown = JSON.parse(text);
    return Array.isArray(all)
      ? all
          .filter(isTerm)
          .slice(0, MOST_TERMS)
          .map(({ pod, epoch, since }) => ({ pod, epoch, since }))
      : [];
  } catch {
    return [];
  }
}

/** The annotation of a Lease that is acquired. */
export const withTerm = (before: readonly LeaseTerm[], term: LeaseTerm): Record<string, string> => ({
  [TERMS_ANNOTATION]: JSON.stringify([term, ...before.filter(({ epoch }) => epoch < term.epoch)].slice(0, MOST_TERMS)),
});
