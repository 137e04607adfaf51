/** What a machine of more cores would do, from what each part costs per job. Pure. */

export interface PartCost {
  label: string;
  msPerJob: number;
  /** Of its busiest thread. */
  threadMs: number;
}

export interface Capacity {
  rate: number;
  /** What limits it: the cores together, or one part. */
  bound: string;
}

/** Parts whose work is in the one thread of an event loop, so that further cores do not help them. */
const ONE_THREAD = /^(controller|api)\b/;

/**
 * An upper bound: every core works for jobs alone, and a job costs what it costs here. Callers and origin are
 * elsewhere. Replicas are as many as were measured.
 */
export function capacity(parts: readonly PartCost[], cores: number): Capacity {
  const sum = parts.reduce((total, { msPerJob }) => total + msPerJob, 0);
  const limits: Capacity[] = [
    { rate: (cores * 1000) / sum, bound: `${cores} cores` },
    ...parts
      .filter(({ label }) => ONE_THREAD.test(label))
      .map(({ label, threadMs }) => ({ rate: 1000 / threadMs, bound: `the thread of ${label}` })),
  ];
  return limits.reduce((least, limit) => (limit.rate < least.rate ? limit : least));
}

/** The machine for which the aims are given: its bare ffprobe takes so long. */
const AIM_BARE_MS = 12;

/** The rate as it would be on that machine. */
export const scaledRate = (rate: number, bareMs: number): number => (rate * bareMs) / AIM_BARE_MS;
