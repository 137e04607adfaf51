/** Two faults at once, drawn by a seed: the same seed draws the same pairs at the same moments. */
import { PODS } from '../../src/kube/client.ts';
import { NAMESPACE, type Cluster } from '../cluster/fixture.ts';
import * as injections from './injections.ts';
import type { Injection } from './injections.ts';
import { killPod, moment, settled } from './load.ts';

/** Those that leave the node's own control plane alone may meet any other. */
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
  /** How long after the first. */ afterMs: number;
}

/** Mulberry32: small, even enough for a draw, and the same everywhere. */
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

/** Ends when both have ended, so that what one broke is whole again though the other failed. */
export async function injectPair(c: Cluster, { first, second, afterMs }: Pair): Promise<void> {
  const ends = await Promise.allSettled([injectionOf(first)(c), moment(afterMs).then(() => injectionOf(second)(c))]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/**
 * Both replicas of each part are there for the next round. A container that was killed often waits for minutes to be
 * started again, as the kubelet has it: its pod is replaced.
 */
export async function whole(c: Cluster): Promise<void> {
  await settled(c);
  const { items } = await c.kube.listAll(PODS, { namespace: NAMESPACE });
  for (const pod of items) if (injections.isHeldBack(pod)) await killPod(c, NAMESPACE, pod.metadata.name);
  for (const part of ['api', 'controller'] as const) await injections.replicasReady(c, part);
}
