/** What the tests of a file waited for, and how long: shown beside the file's time. Waits at once are counted each. */
const SHORTEST_SECONDS = 2;
const MOST_SHOWN = 3;

export interface Wait {
  what: string;
  seconds: number;
}

const waited = new Map<string, number>();

export async function noted<T>(what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  try {
    return await work();
  } finally {
    waited.set(what, (waited.get(what) ?? 0) + (performance.now() - began) / 1000);
  }
}

/** The longest since the last call. */
export function longestWaits(): Wait[] {
  const all = [...waited].map(([what, seconds]) => ({ what, seconds }));
  waited.clear();
  return all
    .filter(({ seconds }) => seconds >= SHORTEST_SECONDS)
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, MOST_SHOWN);
}
