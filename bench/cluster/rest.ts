/** A cluster at rest: what ran before a measurement, such as pods that are removed, is no part of it. */
import { setTimeout as delay } from 'node:timers/promises';
import { cpuByLabel, cpuUsed } from './cpu.ts';

/** CPU of all processes of the cluster, in milliseconds a second. At rest it was measured at 130. */
const AT_REST = 220;
const LOOK_MS = 3_000;
const PATIENCE_MS = 120_000;

async function busy(): Promise<number> {
  const before = cpuByLabel();
  const begun = performance.now();
  await delay(LOOK_MS);
  const ms = cpuUsed(before, cpuByLabel()).reduce((sum, used) => sum + used.ms, 0);
  return (ms / (performance.now() - begun)) * 1000;
}

/** Waits until the cluster is at rest, or says that it is not. */
export async function atRest(report: (line: string) => void): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  let used = await busy();
  while (used > AT_REST && performance.now() < until) used = await busy();
  if (used > AT_REST) report(`the cluster is not at rest: its processes use ${used.toFixed(0)} ms of CPU a second`);
}
