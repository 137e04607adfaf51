/**
 * The background builder. A first response needs few of the tools, so `make up` returns after it without the others,
 * and this program continues. It runs in the node's cgroup, so that `make down` ends it as well.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { buildParts } from './build.ts';
import { createCgroup } from './cgroups.ts';
import { ClusterError, codeOf, explain } from './cluster_error.ts';
import { RELEASE } from './chart.ts';
import { logOf, recordOf, writeWhole } from './daemon.ts';
import { until } from './deadline.ts';
import { toolsProven } from './first_probe.ts';
import { installProduct } from './install_product.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { NODE } from './layout.ts';
import { NODE_LOCK, locked } from './lock.ts';
import { NODE_PARTS } from './parts.ts';
import { readRunning, startProcess, stopProcess } from './processes.ts';
import { buildImages, laterTools } from './product_images.ts';
import { say, timed } from '../../images/progress.ts';
import { ensureSettings } from './settings.ts';
import { readState } from './state_file.ts';
import { kubeClient } from '../kube/kubeconfig.ts';

const NAME = 'builder';
const record = recordOf(NODE, NAME);
export const builderLog = logOf(NODE, NAME);

/** The progress of the builder. The file is removed when it has finished. */
const Progress = Type.Object({
  /** Tools that are not installed yet, in build order. */
  tools: Type.Array(Type.String()),
  since: Type.String(),
  error: Type.Optional(Type.String()),
});
type Progress = Static<typeof Progress>;
const progressFile = join(NODE.stateDir, 'builder.json');

const write = (progress: Progress): Promise<void> => writeWhole(progressFile, `${JSON.stringify(progress)}\n`);

/**
 * Starts the builder for these tools, unless it is running. Without any, removes the outdated progress of an ended one.
 */
export async function startBuilder(tools: readonly string[]): Promise<void> {
  if (readRunning(record) !== undefined) return;
  if (tools.length === 0) return rm(progressFile, { force: true });
  await write({ tools: [...tools], since: new Date().toISOString() });
  startProcess({
    program: 'nice',
    args: ['-n', '10', process.execPath, import.meta.filename],
    hash: NAME,
    record,
    log: builderLog,
    env: Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : []))),
    cgroups: await createCgroup(NODE.name),
  });
  await until({ what: 'the builder has started', timeoutMs: 10_000, everyMs: 20 }, () => existsSync(record));
}

const GRACE_MS = 5_000;
export const endBuilder = (): Promise<boolean> => stopProcess(record, GRACE_MS);

/** The progress in one line. */
export function lineOf({ tools, since, error }: Progress, running: boolean): string {
  const log = `(log: ${builderLog})`;
  const [next = '', ...others] = tools;
  const inTurn = others.length < 3 ? tools.join(', then ') : `${next} and ${others.length} further tool versions`;
  return running
    ? `${inTurn}: being built in the background since ${since} ${log}`
    : `${tools.join(', ')}: not built: ${error ?? 'the builder was ended'}; make up tries again ${log}`;
}

/** Undefined if nothing is left to build. */
export async function builderStatus(): Promise<string | undefined> {
  const progress = await readState(Progress, progressFile);
  return progress && lineOf(progress, readRunning(record) !== undefined);
}

/** Resolves when every tool is installed. Throws if the builder failed or was killed. */
async function builderDone(): Promise<void> {
  const status = await builderStatus();
  if (status === undefined) return;
  say(status);
  await timed('the background builder has finished', () =>
    until(
      { what: 'the background builder has finished', timeoutMs: 3_600_000, everyMs: 500 },
      () => readRunning(record) === undefined,
    ),
  );
  const left = await builderStatus();
  if (left !== undefined) throw new ClusterError('BUILD_FAILED', left);
}

/** Waits for a running `make up`. The work runs once, whatever its outcome. */
async function lockedSoon(work: () => Promise<void>): Promise<void> {
  const done = await until({ what: 'no other make up is at work', timeoutMs: 600_000, everyMs: 500 }, () =>
    locked(NODE_LOCK, async () => ({
      failed: await work().then(
        () => undefined,
        (error: unknown) => ({ error }),
      ),
    })).catch((error: unknown) => {
      if (codeOf(error) === 'LOCKED') return undefined;
      throw error;
    }),
  );
  if (done.failed) throw done.failed.error;
}

/** Brings every tool that is built onto the node. */
async function install(): Promise<void> {
  const built = await buildParts(NODE_PARTS);
  const { hostIp } = await ensureSettings(NODE);
  const images = await buildImages({ withoutLater: true });
  await installProduct(built, hostIp, images);
  const kube = await kubeClient({ kubeconfig: kubeconfigOf(NODE, 'admin'), namespace: RELEASE });
  await toolsProven(kube, images.filter(({ kind }) => kind === 'tool').length).finally(() => kube.close());
}

async function main(): Promise<void> {
  const since = new Date().toISOString();
  const groups = await laterTools();
  const left = groups.flat();
  try {
    for (const group of groups) {
      for (const name of group) {
        await write({ tools: left, since });
        await buildImages({ only: [name] });
        left.shift();
      }
      await lockedSoon(install);
    }
    // Nothing was left to build, and what an earlier builder has built may not be installed.
    if (groups.length === 0) await lockedSoon(install);
    await rm(progressFile, { force: true });
    say('every tool is installed');
  } catch (error) {
    await write({ tools: left, since, error: explain(error) });
    throw error;
  }
}

/** `builder.ts` builds, `builder.ts wait` waits for a running builder. */
if (import.meta.main)
  await (process.argv[2] === 'wait' ? builderDone() : main()).catch((error: unknown) => {
    console.error(`builder: ${explain(error)}`);
    process.exitCode = 1;
  });
