import { existsSync } from 'node:fs';
import { readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { cgroupFolders, cgroupProcesses, removeCgroup, restoreHandedDown } from './cgroups.ts';
import { run } from './command.ts';
import { until } from './deadline.ts';
import { isOurRule, removeOurRules, savedRules } from './iptables.ts';
import { BRIDGE, JOINED, type Layout } from './layout.ts';
import { hasLink } from './links.ts';
import { isBelow, readMountPoints, unmountBelow } from './mounts.ts';
import { removeLink, sysctlFile } from './network.ts';
import { codeOf } from './cluster_error.ts';
import { say } from '../../images/progress.ts';
import { differences, SIDE_FOLDERS, Snapshot, takeSnapshot, type Difference } from './snapshot.ts';
import { readState } from './state_file.ts';

const LINKS: readonly string[] = [BRIDGE, ...JOINED.map(({ uplink }) => uplink)];

/** Whether the machine has anything of a cluster with this layout. */
export async function anythingOf(layout: Layout): Promise<boolean> {
  if (existsSync(layout.stateDir) || existsSync(layout.runDir)) return true;
  if ((await cgroupFolders(layout.name)).length > 0) return true;
  return (
    layout.name === 'probeyard-node' && (hasLink(BRIDGE) || /\bKUBE-|probeyard-node/.test(await savedRules('iptables')))
  );
}

/**
 * Kills every process in our cgroup at once, including daemons, shims and all processes in pods, whatever their parent.
 * There is no grace period, because their state is deleted next.
 */
export async function endProcesses(layout: Layout): Promise<number> {
  let ended = 0;
  const seen = new Set<number>();
  await until({ what: 'every process of the node ends', timeoutMs: 30_000, everyMs: 50 }, async () => {
    const pids = await cgroupProcesses(layout.name);
    for (const pid of pids) {
      if (!seen.has(pid)) ended++;
      seen.add(pid);
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if (codeOf(error) !== 'ESRCH') throw error;
      }
    }
    return pids.length === 0;
  });
  // Their parents have to reap them. A slow init is no reason to fail.
  await until({ what: 'they are collected', timeoutMs: 10_000 }, () =>
    [...seen].every((pid) => !existsSync(`/proc/${pid}`)),
  ).catch(() => {});
  return ended;
}

/** Removes the node from the machine. Returns the remaining differences that are ours. */
export async function removeNode(
  layout: Layout,
  snapshotFile: string,
): Promise<{ ours: Difference[]; others: Difference[] }> {
  const before = await readState(Snapshot, snapshotFile);
  say(`ended ${await endProcesses(layout)} processes`);
  await unmountBelow([layout.runDir, layout.stateDir]);
  for (const link of LINKS) await removeLink(link);
  await removeOurRules();
  await removeCgroup(layout.name);
  await removeSideFolders(before);
  // A reboot has already restored the machine's own values.
  if (before !== undefined && before.boot === (await takeSnapshot()).boot) {
    await restoreSysctls(before);
    await restoreHandedDown(before.controllers ?? []);
  }
  await rm(layout.runDir, { recursive: true, force: true });
  const result = before === undefined ? { ours: [], others: [] } : await verify(layout, before);
  if (result.ours.length === 0) await rm(layout.stateDir, { recursive: true, force: true });
  return result;
}

async function verify(layout: Layout, before: Snapshot): Promise<{ ours: Difference[]; others: Difference[] }> {
  const ours = (difference: Difference): Difference => ({
    ...difference,
    added: difference.added.filter((item) => isOurs(layout, difference.list, item)),
    removed: [],
  });
  // Pod links disappear a moment later, when the kernel has removed their namespaces.
  const settled = await until({ what: 'the kernel lets go', timeoutMs: 10_000 }, async () => {
    const found = differences(before, await takeSnapshot());
    return found.map(ours).every(({ added }) => added.length === 0) ? found : false;
  }).catch(async () => differences(before, await takeSnapshot()));
  return {
    ours: settled.map(ours).filter(({ added }) => added.length > 0),
    others: settled
      .map((difference) => ({
        ...difference,
        added: difference.added.filter(notOurs(layout, difference)),
        removed: difference.removed.filter(notOurs(layout, difference)),
      }))
      .filter(({ added, removed }) => added.length + removed.length > 0),
  };
}

function notOurs(layout: Layout, { list }: Difference): (item: string) => boolean {
  return (item) => !isOurs(layout, list, item);
}

/** Whether an addition came from the node. Other programs change a machine at the same time. */
export function isOurs(layout: Layout, list: Difference['list'], item: string): boolean {
  switch (list) {
    case 'links':
      return LINKS.includes(item);
    case 'mounts':
      return isBelow(item, [layout.stateDir, layout.runDir]);
    case 'rules':
    case 'rules6':
      return isOurRule(item);
    case 'routes':
      return item.includes(BRIDGE);
    case 'cgroups':
      return item.includes(`/${layout.name}`);
    case 'folders':
      return true;
    case 'sysctls':
      return true;
    case 'namespaces':
      return item.startsWith('cni-');
  }
}

/**
 * Removes folders of the kubelet and containerd elsewhere, if they did not exist before, and links into ours in any
 * case.
 */
async function removeSideFolders(before: Snapshot | undefined): Promise<void> {
  for (const folder of SIDE_FOLDERS) {
    if (!existsSync(folder)) continue;
    if (
      before !== undefined &&
      !before.lists.folders.includes(folder) &&
      !readMountPoints().some((point) => isBelow(point, [folder]))
    ) {
      await rm(folder, { recursive: true, force: true });
    } else {
      // Dangling links to our folders in a foreign folder.
      await run('find', [folder, '-maxdepth', '1', '-type', 'l', '-lname', '*probeyard-node*', '-delete']);
    }
  }
  for (const folder of ['/opt/cni', '/usr/libexec/kubernetes']) await rmdir(folder).catch(() => {});
}

async function restoreSysctls(before: Snapshot): Promise<void> {
  for (const [name, value] of Object.entries(before.sysctls)) {
    const now = await readFile(sysctlFile(name), 'utf8').catch(() => undefined);
    if (now !== undefined && now.trim() !== value) await writeFile(sysctlFile(name), value).catch(() => {});
  }
}
