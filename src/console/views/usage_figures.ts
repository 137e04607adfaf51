/** Figures of the API, as rows of a table: pure. */
interface Figures {
  'users-usage': {
    'user-id': number;
    'aggregated-usage': { 'aggregation-time': string; resources: Record<string, number> }[];
  }[];
}

export interface Bucket {
  at: string;
  user: number;
  figures: Record<string, number>;
}

/**
 * Usage and queue have a bucket for the same users and times: one row each, in order of time. An answer that is not
 * there yet has none.
 */
export function bucketsOf(...answers: readonly (Figures | undefined)[]): Bucket[] {
  const buckets = new Map<string, Bucket>();
  for (const answer of answers)
    for (const { 'user-id': user, 'aggregated-usage': usage } of answer?.['users-usage'] ?? [])
      for (const { 'aggregation-time': at, resources } of usage) {
        const bucket = buckets.get(`${at} ${user}`) ?? { at, user, figures: {} };
        Object.assign(bucket.figures, resources);
        buckets.set(`${at} ${user}`, bucket);
      }
  return [...buckets.values()].sort((a, b) => (a.at === b.at ? a.user - b.user : a.at < b.at ? -1 : 1));
}

/** Only what may be added: a sum of averages is none. */
export function addedUp(buckets: readonly Bucket[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { figures } of buckets)
    for (const [name, value] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
}

export const summed = (answer: Figures | undefined): Record<string, number> => addedUp(bucketsOf(answer));
