/** The order of tool versions. */
const numbers = (version: string): number[] => version.split(/[._-]/).map((part) => Number.parseInt(part, 10) || 0);

/**
 * The version for `latest`, for its name, or the newest one that begins with it: 6.1.2 for 6. `versions`: newest first;
 * the first of them is the latest where none is marked.
 */
export function versionFor(
  wanted: string,
  versions: readonly string[],
  latest: string | undefined = versions[0],
): string | undefined {
  if (wanted === 'latest') return latest;
  if (versions.includes(wanted)) return wanted;
  return /^\d+(?:\.\d+)*$/.test(wanted) ? versions.find((version) => version.startsWith(`${wanted}.`)) : undefined;
}

/** The version whose numbers are least apart, the first of them first; undefined if none is wanted by numbers. */
export function nearestVersion(wanted: string, versions: readonly string[]): string | undefined {
  if (!/^\d{1,9}(?:[.]\d{1,9})*$/.test(wanted)) return undefined;
  const apart = (version: string): number[] => {
    const [left, right] = [numbers(wanted), numbers(version)];
    return Array.from({ length: Math.max(left.length, right.length) }, (_, at) =>
      Math.abs((left[at] ?? 0) - (right[at] ?? 0)),
    );
  };
  const nearer = (a: string, b: string): number => {
    const [left, right] = [apart(a), apart(b)];
    const place = left.findIndex((distance, at) => distance !== (right[at] ?? 0));
    return place === -1 ? 0 : left[place]! - (right[place] ?? 0);
  };
  return [...versions].sort(nearer)[0];
}

/** Newest first: 7.0 before 5.1, 24.06 before 9.1. */
export function byNewest(a: string, b: string): number {
  const [left, right] = [numbers(a), numbers(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (right[index] ?? 0) - (left[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}
