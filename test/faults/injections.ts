/**
 * Every fault that a test or the soak can cause. Each returns when the broken part is whole again, or recovering. The
 * tests say what is expected of the product meanwhile.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PODS, PROBE_JOBS, isKubeError, type Pod } from '../../src/platform/kube/client.ts';
import { NAMESPACE, RUNNERS, eventually, type Cluster } from '../cluster/fixture.ts';
import { run } from '../node/command.ts';
import { recordOf } from '../node/daemon.ts';
import { NODE } from '../node/layout.ts';
import { readRunning } from '../node/processes.ts';
import { containerdSocket } from '../node/runtime.ts';
import { killPod, leaseHolder, moment, pidsOf } from './load.ts';

export type Injection = (c: Cluster) => Promise<void>;

export const isReady = (pod: Pod): boolean =>
  pod.metadata.deletionTimestamp === undefined &&
  (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');

/** The kubelet delays the restart of a container that was killed often. */
export const isHeldBack = (pod: Pod): boolean =>
  pod.status?.containerStatuses?.some(({ state }) => state?.waiting?.reason === 'CrashLoopBackOff') ?? false;

/** The other fault may be an unresponsive API server, so a call that needs it waits until it responds. */
async function heard<T>(call: () => Promise<T>): Promise<T> {
  const end = performance.now() + 60_000;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const silent = isKubeError(error, 'timeout') || isKubeError(error, 'unreachable');
      if (!silent || performance.now() > end) throw error;
      await moment(100);
    }
  }
}

async function podsOf(c: Cluster, namespace: string, component: string): Promise<Pod[]> {
  return (
    await heard(() => c.kube.listAll(PODS, { namespace, labelSelector: `app.kubernetes.io/component=${component}` }))
  ).items;
}

const podOf = (c: Cluster, name: string): Promise<Pod> => heard(() => c.kube.get(PODS, name, { namespace: NAMESPACE }));
const holder = (c: Cluster): Promise<string> => heard(() => leaseHolder(c));
const kill = (c: Cluster, namespace: string, name: string): Promise<void> => heard(() => killPod(c, namespace, name));

export async function replicasReady(c: Cluster, component: 'api' | 'controller', count = 2): Promise<void> {
  await eventually(
    `${count} pods of the ${component} are ready`,
    150,
    async () => (await podsOf(c, NAMESPACE, component)).filter(isReady).length >= count,
  );
}

/**
 * A pod with running processes, because the other fault may just have ended the first one found. Pods and lease holders
 * have the same names.
 */
async function alive(what: string, find: () => Promise<string | undefined>): Promise<{ name: string; pids: number[] }> {
  return eventually(`${what} with a process`, 60, async () => {
    const name = (await find()) ?? '';
    const pids = name === '' ? [] : pidsOf('PY_POD_NAME', name.split('_')[0]!);
    return pids.length > 0 && { name, pids };
  });
}

/** The process may have exited on its own meanwhile. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

async function doesAnotherLead(c: Cluster, before: string): Promise<boolean> {
  const now = await holder(c);
  return now !== '' && now !== before;
}
const anotherLeads = (c: Cluster, before: string): Promise<unknown> =>
  eventually('another leads', 40, () => doesAnotherLead(c, before));

export const leaderKilled: Injection = async (c) => {
  const { name: before, pids } = await alive('a leader', () => holder(c));
  signal(pids, 'SIGKILL');
  await anotherLeads(c, before);
};

/** Pauses the leader past its lease, until another leads. It then continues in the belief that it leads. */
export const leaderPaused: Injection = async (c) => {
  const { name: before, pids } = await alive('a leader', () => holder(c));
  signal(pids, 'SIGSTOP');
  const since = performance.now();
  try {
    // If an earlier fault killed the other replica often, the kubelet delays its restart for minutes. Then there is no
    // leader, and the pause ends past the lease.
    const noneCan = async () =>
      performance.now() - since > 15_000 &&
      (await podsOf(c, NAMESPACE, 'controller')).every(
        (pod) => pod.metadata.name === before.split('_')[0] || isHeldBack(pod),
      );
    await eventually(
      'another leads, or none can',
      40,
      async () => (await doesAnotherLead(c, before)) || (await noneCan()),
    );
    await moment(1_000);
  } finally {
    signal(pids, 'SIGCONT');
  }
};

export const apiReplicasReplaced: Injection = async (c) => {
  const before = (await podsOf(c, NAMESPACE, 'api')).filter(isReady);
  for (const { metadata } of before) {
    await heard(() => c.kube.delete(PODS, metadata.name, { namespace: NAMESPACE })).catch((error: unknown) => {
      // Deleted by an earlier call whose response was lost.
      if (!isKubeError(error, 'not-found')) throw error;
    });
    await eventually(
      'two others are ready',
      120,
      async () =>
        (await podsOf(c, NAMESPACE, 'api')).filter((pod) => isReady(pod) && pod.metadata.uid !== metadata.uid).length >=
        2,
    );
  }
};

const runners = (c: Cluster): Promise<Pod[]> => podsOf(c, RUNNERS, 'runner');

/** All at once; the kubelet starts them anew. */
export const apiReplicasKilled: Injection = async (c) => {
  const before = await podsOf(c, NAMESPACE, 'api');
  const restarts = (pods: readonly Pod[]): number =>
    pods
      .flatMap(({ status }) => status?.containerStatuses ?? [])
      .reduce((sum, { restartCount }) => sum + restartCount, 0);
  signal(
    before.flatMap((pod) =>
      processesOf(pod)
        .slice(1)
        .map(({ pid }) => pid),
    ),
    'SIGKILL',
  );
  await eventually(
    'they are started anew',
    60,
    async () => restarts(await podsOf(c, NAMESPACE, 'api')) >= restarts(before) + before.length,
  );
  await replicasReady(c, 'api');
};

export const runnersKilled: Injection = async (c) => {
  for (let round = 0; round < 3; round++) {
    for (const { metadata } of (await runners(c)).filter(isReady).slice(0, 2)) await kill(c, RUNNERS, metadata.name);
    await moment(500);
  }
};

/** Kills only the agents. Their pods stay `Running` because of the other container. */
export const agentsKilled: Injection = async (c) => {
  for (let round = 0; round < 2; round++) {
    const chosen = await eventually('runners that are ready', 60, async () => {
      const ready = (await runners(c))
        .filter(isReady)
        .map(({ metadata }) => metadata)
        .filter(({ name }) => pidsOf('PY_POD_NAME', name).length > 0);
      return ready.length > 0 && ready.slice(0, 2);
    });
    for (const { name } of chosen) signal(pidsOf('PY_POD_NAME', name), 'SIGKILL');
    await eventually('their pods are gone', 60, async () => {
      const left = await runners(c);
      return chosen.every(
        ({ uid }) => !left.some(({ metadata }) => metadata.uid === uid && metadata.deletionTimestamp === undefined),
      );
    });
  }
};

export const bootingRunnersKilled: Injection = async (c) => {
  // Kills the ready ones too, so that others have to start.
  for (const { metadata } of (await runners(c)).filter(isReady)) await kill(c, RUNNERS, metadata.name);
  for (let round = 0; round < 4; round++) {
    const booting = await eventually('a runner boots', 60, async () => {
      const found = (await runners(c)).filter((pod) => pod.metadata.deletionTimestamp === undefined && !isReady(pod));
      return found.length > 0 && found;
    });
    for (const { metadata } of booting) await kill(c, RUNNERS, metadata.name);
  }
};

async function statefulPodReplaced(c: Cluster, name: string, seconds: number): Promise<void> {
  const {
    metadata: { uid },
  } = await podOf(c, name);
  await kill(c, NAMESPACE, name);
  await eventually(`${name} is back`, seconds, async () => {
    const pod = await c.kube.get(PODS, name, { namespace: NAMESPACE });
    return pod.metadata.uid !== uid && isReady(pod);
  });
}

export const natsServers = async (c: Cluster): Promise<string[]> =>
  (await podsOf(c, NAMESPACE, 'nats')).map(({ metadata }) => metadata.name).sort();

/** Each in turn, so that the leaders of both streams are among them. One returns before the next is killed. */
export const natsServersKilled: Injection = async (c) => {
  for (const name of await natsServers(c)) await statefulPodReplaced(c, name, 120);
};

/** Where its volume is an emptyDir, its streams are deleted with the pod. */
export const natsWiped = (c: Cluster, seconds = 120): Promise<void> =>
  statefulPodReplaced(c, 'probeyard-nats-0', seconds);
export const postgresReplaced = (c: Cluster, seconds = 120): Promise<void> =>
  statefulPodReplaced(c, 'probeyard-postgres-0', seconds);

/** The pod has ended meanwhile, with its network. */
function networkIsGone(error: unknown): void {
  if (!/No such file|setns|Bad rule/i.test(String(error))) throw error;
}

/**
 * Applies a rule in the network of a pod, from the node, so that existing connections are cut, too. `find`: a process
 * of the pod. It is asked again if that network ends meanwhile, as another fault may replace the pod.
 */
async function blocked(
  what: string,
  find: () => Promise<number | undefined>,
  rule: readonly string[],
  ms: number,
): Promise<void> {
  const iptables = (pid: number, action: '-I' | '-D') =>
    run('nsenter', ['--target', String(pid), '--net', 'iptables', '-w', action, ...rule]);
  const pid = await eventually(what, 60, async () => {
    const found = await find();
    if (found === undefined) return undefined;
    try {
      await iptables(found, '-I');
      return found;
    } catch (error) {
      networkIsGone(error);
      return undefined;
    }
  });
  try {
    await moment(ms);
  } finally {
    await iptables(pid, '-D').catch(networkIsGone);
  }
}

// Processes inside the pod can still connect, because the reckoning reads there.
export const postgresRefuses: Injection = (c) =>
  blocked(
    'Postgres refuses',
    async () => sandboxOf(await podOf(c, 'probeyard-postgres-0')),
    ['INPUT', '!', '-i', 'lo', '-p', 'tcp', '--dport', '5432', '-j', 'REJECT', '--reject-with', 'tcp-reset'],
    20_000,
  );

export const runnerCutOffFromNats: Injection = async (c) => {
  const working = async (): Promise<number | undefined> => {
    const { pids } = await alive('a runner that works', async () => {
      const { items } = await c.kube.listAll(PROBE_JOBS, { namespace: NAMESPACE });
      return items.find(({ status }) => status?.runner !== undefined && status.completedAt === undefined)?.status
        ?.runner?.pod;
    });
    return pids[0];
  };
  // Longer than the leader accepts silence of a runner. The job runs elsewhere, and the late result changes nothing.
  await blocked('a runner is cut off', working, ['OUTPUT', '-p', 'tcp', '--dport', '4222', '-j', 'DROP'], 25_000);
};

interface Running {
  pid: number;
  startedAt: number;
}

/**
 * Processes of a pod, oldest first. The cgroup identifies them by the pod's uid, because some programs overwrite their
 * environment.
 */
function processesOf(pod: Pod): Running[] {
  const uid = pod.metadata.uid ?? '';
  const names = [uid, uid.replaceAll('-', '_')];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const group = readFileSync(`/proc/${name}/cgroup`, 'utf8');
        if (!names.some((part) => group.includes(`pod${part}`))) return [];
        const startedAt = Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19]);
        return [{ pid: Number(name), startedAt }];
      } catch {
        return [];
      }
    })
    .toSorted((one, other) => one.startedAt - other.startedAt);
}

/**
 * The sandbox of a pod starts first and ends last. Other processes come and go, and a rule in the network of an ended
 * one could not be removed.
 */
const sandboxOf = (pod: Pod): number | undefined => processesOf(pod)[0]?.pid;

/** Longer than every timeout of a client, so that clients drop connections that the server still holds. */
const STALL_MS = 25_000;

/** Stopped, not killed, so that the kernel still accepts connections that stay unanswered. */
async function stalled(pids: () => number[] | Promise<number[]>, times: number): Promise<void> {
  for (let round = 0; round < times; round++) {
    const stopped = await pids();
    signal(stopped, 'SIGSTOP');
    try {
      await moment(STALL_MS);
    } finally {
      signal(stopped, 'SIGCONT');
    }
    await moment(2_000);
  }
}

/** The processes of a pod but its sandbox. It may be replaced meanwhile, by the other fault. */
export const workingIn = (c: Cluster, name: string): Promise<number[]> =>
  eventually(`${name} works`, 150, async () => {
    const [, ...working] = processesOf(await podOf(c, name));
    return working.length > 0 && working.map(({ pid }) => pid);
  });

export const natsStalled = (c: Cluster, times = 3): Promise<void> =>
  stalled(() => workingIn(c, 'probeyard-nats-0'), times);
export const postgresStalled = (c: Cluster, times = 3): Promise<void> =>
  stalled(() => workingIn(c, 'probeyard-postgres-0'), times);
export const apiServerStalled = (_: Cluster, times = 3): Promise<void> => stalled(() => [apiServerPid()], times);

export type StoppedPart = 'postgres' | 'nats' | 'api' | 'controller' | 'api-server';

/** Stops all processes of a part for a time, and lets them go on. */
export async function partStopped(c: Cluster, part: StoppedPart, ms: number): Promise<void> {
  const found =
    part === 'api-server'
      ? [apiServerPid()]
      : part === 'nats' || part === 'postgres'
        ? await workingIn(c, `probeyard-${part}-0`)
        : (await podsOf(c, NAMESPACE, part)).flatMap((pod) =>
            processesOf(pod)
              .slice(1)
              .map(({ pid }) => pid),
          );
  signal(found, 'SIGSTOP');
  try {
    await moment(ms);
  } finally {
    signal(found, 'SIGCONT');
  }
}

function apiServerPid(): number {
  const running = readRunning(recordOf(NODE, 'kube-apiserver'));
  if (!running) throw new Error('the API server does not run');
  return running.pid;
}

export const apiServerUnreachable: Injection = async () => {
  const pid = apiServerPid();
  process.kill(pid, 'SIGSTOP');
  try {
    await moment(20_000);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
};

export const apiServerRestarted: Injection = async () => {
  process.kill(apiServerPid(), 'SIGKILL');
  const up = fork(join(import.meta.dirname, '..', 'node', 'up.ts'), ['--node-only'], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let said = '';
  up.stderr?.on('data', (text: Buffer) => {
    said += text.toString();
  });
  const [code] = (await once(up, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the API server could not be started again: ${said}`);
};

export const jobsDeletedWithoutController: Injection = async (c) => {
  const scale = (replicas: number) =>
    c.kubectl('-n', NAMESPACE, 'scale', 'deployment/probeyard-controller', `--replicas=${replicas}`);
  await scale(0);
  try {
    await eventually('no controller is left', 90, async () => (await podsOf(c, NAMESPACE, 'controller')).length === 0);
    await moment(2_000);
    await c.kubectl('-n', NAMESPACE, 'delete', 'probejobs', '--all', '--wait=false');
  } finally {
    await scale(2);
  }
  await replicasReady(c, 'controller');
};

export const natsStalledOnce: Injection = (c) => natsStalled(c, 1);
export const postgresStalledOnce: Injection = (c) => postgresStalled(c, 1);

/** Removes the images of all tools from the node. Existing runners keep theirs mounted, and new ones cannot start. */
export const toolImagesGone: Injection = async (c) => {
  await withoutImages(/^localhost\/probeyard\/tool-[^/]+$/, async () => {
    for (const { metadata } of (await runners(c)).filter(isReady).slice(0, 1)) await kill(c, RUNNERS, metadata.name);
    await moment(8_000);
  });
};

/** Removes images from the node while `work` runs. */
export async function withoutImages(which: RegExp, work: () => Promise<void>): Promise<void> {
  const ctr = (...args: string[]) =>
    run(join(import.meta.dirname, '..', '..', '.local', 'bin', 'ctr'), [
      '-a',
      containerdSocket(NODE),
      '-n',
      'k8s.io',
      ...args,
    ]);
  const names = (await ctr('images', 'ls', '-q')).split('\n').filter((name) => which.test(name));
  if (names.length === 0) throw new Error(`no image ${which} is on the node`);
  const kept = names.map((name) => `kept.invalid/${name.replaceAll(/[@:]/g, '/')}:kept`);
  for (const [index, name] of names.entries()) await ctr('images', 'tag', '--force', name, kept[index]!);
  await ctr('images', 'rm', ...names);
  try {
    await work();
  } finally {
    for (const [index, name] of names.entries()) await ctr('images', 'tag', '--force', kept[index]!, name);
    await ctr('images', 'rm', ...kept);
  }
}
