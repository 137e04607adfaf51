import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import { buildParts, type Built } from '../node/build.ts';
import { createCgroup, removeCgroup } from '../node/cgroups.ts';
import { run } from '../node/command.ts';
import {
  apiServer,
  controllerManager,
  ensureIdentity,
  etcd,
  flags,
  program,
  scheduler,
  type ControlPlane,
} from '../node/control_plane.ts';
import { ensureDaemon, writeWhole, type Daemon } from '../node/daemon.ts';
import { until } from '../node/deadline.ts';
import { checkPlatform, checkPorts } from '../node/host.ts';
import { kubeconfigOf } from '../node/kubeconfig.ts';
import { SIMULATED } from '../node/layout.ts';
import { locked } from '../node/lock.ts';
import { SIMULATED_PARTS } from '../node/parts.ts';
import { endProcesses } from '../node/teardown.ts';
import { stages } from './simulated_stages.ts';

export interface SimulatedOptions {
  nodes: number;
  /** Capacity of each node. */
  podsPerNode?: number;
  /** From scheduled to running. A real node here takes 0.3 to 0.9 s. */
  podStartSeconds?: number;
}

export interface SimulatedCluster {
  kubeconfig: string;
}

const layout = SIMULATED;
const lock = '/run/lock/probeyard-simulated.lock';

/**
 * A real control plane with simulated nodes beside the local node, for tests of scale. Hundreds of nodes run nothing.
 */
export async function simulatedUp(options: SimulatedOptions): Promise<SimulatedCluster> {
  checkPlatform();
  return locked(lock, async () => {
    await checkPorts(layout, '127.0.0.1');
    const built = await buildParts(SIMULATED_PARTS);
    const plane: ControlPlane = {
      layout,
      built,
      address: '127.0.0.1',
      reachable: false,
      serviceCidr: '10.96.0.0/16',
      serviceAddress: '10.96.0.1',
      audit: false,
    };
    await ensureIdentity(plane, [
      { name: 'kwok', ca: 'ca', commonName: 'probeyard-simulated-nodes', organization: 'system:masters' },
    ]);
    const cgroups = await createCgroup(layout.name);
    await ensureDaemon(layout, etcd(plane), cgroups);
    await ensureDaemon(layout, apiServer(plane), cgroups);
    const others = [controllerManager(plane), scheduler(plane), kwok(plane, options.podStartSeconds ?? 0.5)];
    await Promise.all(others.map((daemon) => ensureDaemon(layout, daemon, cgroups)));
    await ensureNodes(built, options);
    return { kubeconfig: kubeconfigOf(layout, 'admin') };
  });
}

export async function simulatedDown(): Promise<void> {
  await locked(lock, async () => {
    await endProcesses(layout);
    await removeCgroup(layout.name);
    for (const folder of [layout.runDir, layout.stateDir]) await rm(folder, { recursive: true, force: true });
  });
}

function kwok(plane: ControlPlane, podStartSeconds: number): Daemon {
  const config = join(layout.stateDir, 'config', 'stages.yaml');
  return {
    name: 'kwok',
    program: program(plane, 'kwok', 'kwok'),
    args: flags({
      kubeconfig: kubeconfigOf(layout, 'kwok'),
      config,
      'manage-all-nodes': 'true',
      'node-ip': '198.51.100.1',
      cidr: '198.18.0.0/15',
      'node-lease-duration-seconds': '40',
    }),
    files: { [config]: stages(podStartSeconds) },
    // It serves no port; the nodes show that it works.
    ready: () => Promise.resolve(true),
    readyWithinMs: 10_000,
  };
}

async function ensureNodes(built: Built, { nodes, podsPerNode = 250 }: SimulatedOptions): Promise<void> {
  const kubectl = (args: readonly string[]) =>
    run(program({ built }, 'kubernetes', 'kubectl'), ['--kubeconfig', kubeconfigOf(layout, 'admin'), ...args]);
  const capacity = { cpu: '32', memory: '128Gi', pods: String(podsPerNode), 'ephemeral-storage': '500Gi' };
  const items = Array.from({ length: nodes }, (_, index) => {
    const name = `simulated-${String(index).padStart(4, '0')}`;
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
      },
      status: { capacity, allocatable: capacity },
    };
  });
  const there = new Set(
    (await kubectl(['get', 'nodes', '-o', 'name'])).split('\n').map((line) => line.replace('node/', '')),
  );
  const missing = items.filter(({ metadata }) => !there.has(metadata.name));
  const file = join(layout.stateDir, 'config', 'nodes.json');
  await writeWhole(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: missing }));
  if (missing.length > 0) await kubectl(['create', '-f', file]);
  await until({ what: `${nodes} simulated nodes are Ready`, timeoutMs: 60_000, everyMs: 250 }, async () => {
    const ready = await kubectl([
      'get',
      'nodes',
      '-o',
      'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}',
    ]);
    return ready.split('\n').filter((line) => line === 'True').length >= nodes;
  });
}
