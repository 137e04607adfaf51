/** The order of tool versions. */
const numbers = (version: string): number[] => version.split(/[._-]/).map((part) => Number.parseInt(part, 10) || 0);

/** Newest first: 7.0 before 5.1, 24.06 before 9.1. */
export function byNewest(a: string, b: string): number {
  const [left, right] = [numbers(a), numbers(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (right[index] ?? 0) - (left[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}
