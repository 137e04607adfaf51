/**
 * The last terms of a Lease's holders. They are an annotation of the Lease, so that they outlive the pods that wrote
 * them. Pure.
 */
import { GROUP } from './resource.ts';
import type { Lease } from './kinds.ts';

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
