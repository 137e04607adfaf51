/** Two faults at once, drawn by a seed. The same seed draws the same pairs at the same moments. */
import type { Cluster } from '../cluster/fixture.ts';
import * as injections from './injections.ts';
import type { Injection } from './injections.ts';
import { moment } from './load.ts';

/** Faults that leave the control plane of the node alone can be combined with any other. */
const DRAWN = [
  'leaderKilled',
  'leaderPaused',
  'apiReplicasReplaced',
  'runnersKilled',
  'agentsKilled',
  'bootingRunnersKilled',
  'natsWiped',
  'postgresReplaced',
  'postgresRefuses',
  'apiServerUnreachable',
  'runnerCutOffFromNats',
  'toolImagesGone',
  'natsStalledOnce',
  'postgresStalledOnce',
] as const satisfies readonly (keyof typeof injections)[];
export type FaultName = (typeof DRAWN)[number];

export interface Pair {
  first: FaultName;
  second: FaultName;
  /** The delay after the first fault. */ afterMs: number;
}

/** Mulberry32: small, sufficiently uniform for a draw, and the same everywhere. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value = (value + Math.imul(value ^ (value >>> 7), value | 61)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function drawPairs(seed: number, count: number): Pair[] {
  const random = seeded(seed);
  return Array.from({ length: count }, () => {
    const first = DRAWN[Math.floor(random() * DRAWN.length)]!;
    const others = DRAWN.filter((name) => name !== first);
    return { first, second: others[Math.floor(random() * others.length)]!, afterMs: Math.floor(random() * 5_000) };
  });
}

const injectionOf = (name: FaultName): Injection => injections[name];

/** Ends when both have ended, so that each is repaired even if the other failed. */
export async function injectPair(c: Cluster, { first, second, afterMs }: Pair): Promise<void> {
  const ends = await Promise.allSettled([injectionOf(first)(c), moment(afterMs).then(() => injectionOf(second)(c))]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
