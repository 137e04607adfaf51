/** The summary of a series of times for the tables. */

export interface Summary {
  count: number;
  least: number;
  p50: number;
  p90: number;
  p99: number;
  most: number;
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

export function summary(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    count: sorted.length,
    least: quantile(sorted, 0),
    p50: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    p99: quantile(sorted, 0.99),
    most: sorted.at(-1) ?? Number.NaN,
  };
}

export const median = (values: readonly number[]): number => summary(values).p50;
