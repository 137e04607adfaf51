/** `tools`, `pools` and `top`: what the resources say, in one table each. */
import type { Run } from '../command.ts';
import { EXIT } from '../exits.ts';
import { writeValue } from '../output/write_answer.ts';
import { age, type Row, several, tableText } from '../output/text_table.ts';
import { kubectlOf } from './run_kubectl.ts';
import { conditionOf, isTrue } from '../../platform/kube/conditions.ts';
import { hasEnded, stateOf, type Job, type List, type Pool, type Tool } from './cluster_resources.ts';

type Named = Pick<Tool, 'metadata'>;
const byName = (a: Named, b: Named): number => a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true });

function toolRow(tool: Tool): Row {
  const [available, degraded] = [conditionOf(tool.status, 'Available'), conditionOf(tool.status, 'Degraded')];
  const isDegraded = isTrue(tool.status, 'Degraded');
  const isReady = isTrue(tool.status, 'Available') && !isDegraded;
  const wrong = isDegraded ? degraded : available;
  return [
    tool.spec.tool,
    tool.spec.version,
    tool.spec.latest === true ? 'latest' : '',
    isReady
      ? { text: 'ready', colour: 'green' }
      : { text: isDegraded ? 'degraded' : (available?.reason ?? 'new'), colour: 'red' },
    isReady ? (tool.status?.reported ?? '') : (wrong?.message ?? ''),
  ];
}

/** Conditions of a pool that are good when they are True, and those that are remarkable then. */
const WALLS = ['UserNamespace', 'SyscallFilter', 'NetworkEnforced'];
const REMARKS = ['Shadowed', 'Overridden'];

function poolRow(pool: Pool): Row {
  const { ready = 0, busy = 0, starting = 0, conditions = [] } = pool.status ?? {};
  const condition = conditionOf(pool.status, 'Ready');
  const walls = conditions.filter(({ type, status }) => WALLS.includes(type) && status === 'False');
  const remarks = conditions.filter(({ type, status }) => REMARKS.includes(type) && status === 'True');
  const why = [
    condition?.message,
    walls.length === 0 ? undefined : `without ${walls.map(({ type }) => type).join(', ')}`,
    ...remarks.map(({ message }) => message),
  ];
  return [
    pool.metadata.name,
    pool.spec.serves.kinds.join(' '),
    String(ready),
    String(busy),
    String(starting),
    `${pool.spec.minReady}/${pool.spec.maxPods}`,
    { text: condition?.reason ?? 'new', colour: condition?.status === 'True' ? 'green' : 'yellow' },
    why.filter(Boolean).join('; '),
  ];
}
const POOL_HEAD = ['POOL', 'KINDS', 'READY', 'BUSY', 'STARTING', 'MIN/MAX', 'STATE', 'WHY'];

const list =
  <T extends Named>(kind: string, head: readonly string[], row: (item: T) => Row): Run =>
  async (invocation) => {
    const { items } = await kubectlOf(invocation).get<List<T>>(kind);
    await writeValue(invocation, items, () => tableText(invocation.terminal, head, items.toSorted(byName).map(row)));
    return EXIT.done;
  };

export const tools = list('probetools', ['TOOL', 'VERSION', '', 'STATE', 'REPORTED'], toolRow);
export const pools = list('probepools', POOL_HEAD, poolRow);

const LISTED = 20;

/** Jobs that have not ended: how many wait for what, and the oldest of them. */
function queueOf(jobs: readonly Job[]): { running: number; waiting: Map<string, number>; oldest: Job[] } {
  const open = jobs.filter((job) => !hasEnded(job));
  const waiting = new Map<string, number>();
  for (const job of open) {
    const state = stateOf(job);
    if (state !== 'Running') waiting.set(state, (waiting.get(state) ?? 0) + 1);
  }
  const created = ({ metadata }: Job): number => Date.parse(metadata.creationTimestamp ?? '');
  return {
    running: open.filter((job) => stateOf(job) === 'Running').length,
    waiting,
    oldest: open.toSorted((a, b) => created(a) - created(b)).slice(0, LISTED),
  };
}

const JOB_HEAD = ['JOB', 'KIND', 'STATE', 'AGE', 'TOKEN', 'RUNNER', 'SOURCE'];
const jobRow = (job: Job): Row => [
  job.metadata.name,
  job.spec.kind,
  stateOf(job),
  age(job.metadata.creationTimestamp ?? ''),
  String(job.spec.token?.id ?? ''),
  job.status?.runner?.pod ?? '',
  job.spec.source.display ?? '',
];

export const top: Run = async (invocation) => {
  const { terminal } = invocation;
  const kubectl = kubectlOf(invocation);
  const [allPools, jobs] = await Promise.all([
    kubectl.get<List<Pool>>('probepools'),
    kubectl.get<List<Job>>('probejobs'),
  ]);
  const { running, waiting, oldest } = queueOf(jobs.items);
  const waits = [...waiting].map(([state, count]) => `${count} ${state}`).join(', ');
  const sentence = `${several(running, 'job')} running, ${waits === '' ? 'none waiting' : `waiting: ${waits}`}`;
  const poolsText = tableText(terminal, POOL_HEAD, allPools.items.toSorted(byName).map(poolRow));
  const jobsText = oldest.length === 0 ? '' : tableText(terminal, JOB_HEAD, oldest.map(jobRow));
  const value = { pools: allPools.items, running, waiting: Object.fromEntries(waiting), oldest };
  await writeValue(invocation, value, () => `${poolsText}\n${sentence}\n${jobsText}`);
  return EXIT.done;
};
