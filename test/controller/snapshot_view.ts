/** A term of any size, as the snapshot of the cluster is made from it. */
import { makeRecent } from '../../src/service/controller/snapshot/recent.ts';
import type { PoolFacts, SnapshotView } from '../../src/service/controller/snapshot/build.ts';
import { newRunner, type Runner } from '../../src/service/controller/pools/runners.ts';
import { RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { API_VERSION, type Condition } from '../../src/platform/kube/resource.ts';
import type { ProbePoolSpec } from '../../src/platform/kube/probe_pool.ts';
import type { ProbeTool, ProbeToolStatus } from '../../src/platform/kube/probe_tool.ts';
import { facts } from './runner_fixture.ts';

export const AT = Date.parse('2026-03-01T12:00:00.000Z');
const MONOTONIC = 1_000_000;

export const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-03-01T11:00:00Z',
});

let serial = 0;
export const aRunner = (change: Partial<Runner> = {}): Runner => {
  const uid = `u${++serial}`;
  const pod = `runner-${String(serial).padStart(6, '0')}`;
  return {
    ...newRunner(facts(uid, { pod, generation: 'g', version: '1', node: 'node-1' }), MONOTONIC - 60_000),
    phase: 'idle',
    readyAt: MONOTONIC - 59_000,
    idleSince: MONOTONIC - 30_000,
    protocol: RUNNER_PROTOCOL,
    seenAt: MONOTONIC,
    ...change,
  };
};

export const busyRunner = (job: string, change: Partial<Runner> = {}): Runner =>
  aRunner({
    phase: 'running',
    tenant: 'a:7',
    account: 7,
    task: { job, attempt: 1, doneBefore: 3, reserved: false },
    jobsDone: 3,
    ...change,
  });

export const aPool = (
  name = 'short',
  spec: Partial<ProbePoolSpec> = {},
  conditions = [condition('Ready', 'True', 'Serving', '2 unused runners are ready')],
  unseen = 0,
): PoolFacts => ({
  unseen,
  heldBack: false,
  pool: {
    apiVersion: API_VERSION,
    kind: 'ProbePool',
    metadata: { name },
    spec: { serves: { kinds: ['file'] }, minReady: 2, maxPods: 10, ...spec },
    status: { conditions },
  },
});

export const aTool = (
  version: string,
  conditions: Condition[],
  status: Partial<ProbeToolStatus> = {},
  latest = false,
): ProbeTool => ({
  apiVersion: API_VERSION,
  kind: 'ProbeTool',
  metadata: { name: `ffprobe-${version}` },
  spec: { tool: 'ffprobe', version, image: `tools/ffprobe:${version}`, latest, command: ['{root}/bin/ffprobe'] },
  status: { conditions, ...status },
});

export const PROVEN = [condition('Available', 'True', 'Proven', 'mounted and executed on amd64; starts in 12 ms')];

export interface Given extends Partial<Omit<SnapshotView, 'queue'>> {
  accounts?: readonly { id: number; waiting: number; held: number; limit: number }[];
  fronts?: readonly { account: number; submittedAt: Date }[];
  waitingIn?: Record<string, number>;
}

export function aView({ accounts = [], fronts = [], waitingIn = {}, ...change }: Given = {}): SnapshotView {
  return {
    at: AT,
    monotonic: MONOTONIC,
    leader: { pod: 'controller-1', epoch: 7, since: AT - 3_600_000, image: 'registry.example.com/media/probeyard:1.2' },
    terms: [{ pod: 'controller-1', epoch: 7, since: '2026-03-01T11:00:00.000Z' }],
    pools: [aPool()],
    runners: [],
    jobOf: (name) => ({ id: `id-of-${name}`, status: { startedAt: '2026-03-01T11:59:58.000Z' } }),
    tools: [],
    recent: makeRecent(() => AT),
    queue: {
      waiting: accounts.reduce((sum, { waiting }) => sum + waiting, 0),
      held: accounts.reduce((sum, { held }) => sum + held, 0),
      waitingIn: (pool) => waitingIn[pool] ?? 0,
      accounts: () => accounts,
      fronts: () => fronts.map((front) => ({ pool: 'short', ...front })),
    },
    ...change,
  };
}
