/**
 * The status of a ProbeJob at each step of its life, as shown by `kubectl get pj` and `describe pj`, and its writes: in
 * turns, and the object is read back after a write that failed.
 */
import { runKey, type Closed } from '../../../platform/bus/messages.ts';
import { isTrue, setConditions, type Change, isFinished } from '../../../platform/kube/conditions.ts';
import { printable } from '../../../base/printable.ts';
import type { Condition } from '../../../platform/kube/resource.ts';
import type { ProbeJob, ProbeJobStatus, Reason, WaitingCause } from '../../../platform/kube/probe_job.ts';
import type { ToolName } from '../../../media/tools/table.ts';
import { PROBE_JOBS, isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import { Fifo } from '../../../base/fifo.ts';
import { getOrMake } from '../../../base/get_or_make.ts';
import { nameOf, type JobKey } from '../../../platform/kube/served_namespaces.ts';

const changeOf =
  <R extends string>(type: string) =>
  (status: Condition['status'], reason: R, message: string): Change => ({ type, status, reason, message });
const admitted = changeOf('Admitted');
const succeeded = changeOf<Reason>('Succeeded');

/** Status of a job that has waited for a second. */
export function waitingStatus(
  previous: ProbeJobStatus | undefined,
  reason: WaitingCause,
  message: string,
  now: string,
): ProbeJobStatus {
  return {
    conditions: setConditions(
      previous,
      [admitted('False', reason, message), succeeded('Unknown', reason, message)],
      now,
    ),
  };
}

/** `resumed`: from then on its time in the queue counts. */
export function suspendedStatus(previous: ProbeJobStatus | undefined, resumed: boolean, now: string): ProbeJobStatus {
  const [message, queued] = ['spec.suspend is true', 'spec.suspend is false: the job is being queued'];
  const changes: Change[] = resumed
    ? [
        { type: 'Suspended', status: 'False', reason: 'Resumed', message: queued },
        succeeded('Unknown', 'Queued', queued),
      ]
    : [{ type: 'Suspended', status: 'True', reason: 'Suspended', message }, succeeded('Unknown', 'Suspended', message)];
  return { conditions: setConditions(previous, changes, now) };
}

export interface Admission {
  holder: string;
  epoch: number;
  /** Lets the next leader count the job for both without a query to Postgres. */
  token: number;
  account: number;
  runner: { pod: string; uid: string };
  attempt: number;
  queueTimeMs: number;
  resultPath: string;
  tools: { name: ToolName; version: string }[];
  /** Each tool runs on two sources. */
  ofTwo?: boolean;
}

/** The admission: from here on the job holds a slot of its token. */
export function admittedStatus(
  previous: ProbeJobStatus | undefined,
  admission: Admission,
  now: string,
): ProbeJobStatus {
  const { holder, epoch, token, account, attempt, queueTimeMs, ofTwo, ...shown } = admission;
  const again = attempt > 1 ? ` (attempt ${attempt})` : '';
  const tools = shown.tools.map(({ name, version }) => `${name} ${version}`).join(' and ');
  const of = ofTwo ? ' of two sources' : '';
  return {
    conditions: setConditions(
      previous,
      [
        admitted('True', 'Admitted', `admitted at ${now}: holds a slot of its token`),
        succeeded('Unknown', 'Running', `${tools}${of} on ${shown.runner.pod}${again}`),
      ],
      now,
    ),
    admittedBy: { holder, epoch, token, account },
    // A retry keeps the first start: time-outs and queue time count from the first admission.
    startedAt: previous?.startedAt ?? now,
    queueTimeMs: previous?.queueTimeMs ?? queueTimeMs,
    attempts: attempt,
    ...shown,
  };
}

/** A tool that ran on two sources is listed once, and successful if both runs were. */
export function mergedTools(runs: Closed['tools']): Closed['tools'] {
  const merged = new Map<string, Closed['tools'][number]>();
  for (const { name, version, success, durationMs } of runs) {
    const key = runKey({ name, version });
    const { success: all = true, durationMs: sum = 0 } = merged.get(key) ?? {};
    merged.set(key, { name, version, success: all && success, durationMs: sum + durationMs });
  }
  return [...merged.values()];
}

/** The end of a job as shown in its status. */
export type JobEnd = Pick<Closed, 'reason' | 'summary' | 'tools' | 'policy'>;

export function finishedStatus(
  previous: ProbeJobStatus | undefined,
  finish: JobEnd & { resultPath: string; batch: string },
  now: string,
): ProbeJobStatus {
  const changes = [
    succeeded(finish.reason === 'Completed' ? 'True' : 'False', finish.reason, printable(finish.summary, 4096)),
  ];
  if (!isTrue(previous, 'Admitted'))
    changes.unshift(admitted('False', finish.reason, 'the job ended before it was admitted'));
  const startedAt = previous?.startedAt;
  return {
    conditions: setConditions(previous, changes, now),
    completedAt: now,
    batch: finish.batch,
    ...(startedAt ? { durationMs: Math.max(0, Date.parse(now) - Date.parse(startedAt)) } : {}),
    ...(finish.tools.length > 0 ? { tools: mergedTools(finish.tools) } : {}),
    ...(finish.policy ? { policy: finish.policy } : {}),
    summary: printable(finish.summary, 1024),
    resultPath: finish.resultPath,
    // Null removes it: what ended has no progress.
    ...(previous?.progress === undefined ? {} : { progress: null as unknown as number }),
  };
}

/** Deletion counts as done once requested, because a foreign finalizer may keep the object forever. */
export const isBeingDeleted = ({ metadata }: Pick<ProbeJob, 'metadata'>): boolean =>
  metadata.deletionTimestamp !== undefined;

/** Server-side time-out of a status write: a write that has not landed by then never does. */
export const WRITE_MS = 1_500;
export const ANSWER_MS = WRITE_MS + 500;

/** The object, and its last known resourceVersion. */
export interface StatusTarget {
  key: JobKey;
  namespace: string;
  /** Empty: any object of the name. */
  uid: string;
  resourceVersion: string;
}

/**
 * One patch at the known resourceVersion: another object may exist under the same name by now, and lists in a status
 * are replaced as a whole.
 */
export const writeStatus = (
  kube: KubeClient,
  { key, namespace, resourceVersion }: StatusTarget,
  status: ProbeJobStatus,
): Promise<ProbeJob> =>
  kube.mergePatchStatus(PROBE_JOBS, nameOf(key), status, {
    namespace,
    resourceVersion,
    serverTimeoutMs: WRITE_MS,
    deadlineMs: ANSWER_MS,
  });

export type Live = { is: 'open' | 'finished'; object: ProbeJob } | { is: 'gone' } | { is: 'unknown' };

/** `gone`: deleted, or replaced by another object of the same name. `unknown`: the API server did not answer. */
export async function readLive(
  { kube, writes }: { kube: KubeClient; writes: WriteTurns },
  { key, namespace, uid }: StatusTarget,
  options: TurnOptions,
): Promise<Live> {
  try {
    const read = () => kube.get(PROBE_JOBS, nameOf(key), { namespace, deadlineMs: ANSWER_MS });
    const object = await writes.run(read, options);
    if (uid !== '' && object.metadata.uid !== uid) return { is: 'gone' };
    return { is: isFinished(object.status) ? 'finished' : 'open', object };
  } catch (error) {
    return { is: isKubeError(error, 'not-found') ? 'gone' : 'unknown' };
  }
}

/** How many calls run at once before the API server has answered one. */
const FIRST = 32;
/** As many as one HTTP/2 connection carries. */
const MOST = 100;
/** One in this many turns goes to the calls that can wait, even while others do. */
const LATER_TURN = 4;

export interface TurnOptions {
  /** Undefined: of a job that was refused before its token was known. These share one turn. */
  account: number | undefined;
  /** Neither a slot nor a runner depends on it. */
  later?: boolean;
}

/** Calls that wait: accounts in turn, and those of one account first in, first out. */
class WaitingCalls {
  readonly #byAccount = new Map<number | undefined, Fifo<() => void>>();
  size = 0;

  push(account: number | undefined, start: () => void): void {
    getOrMake(this.#byAccount, account, () => new Fifo()).push(start);
    this.size++;
  }

  next(): (() => void) | undefined {
    for (const [account, calls] of this.#byAccount) {
      this.#byAccount.delete(account);
      const start = calls.peek(() => true);
      calls.shift();
      if (calls.size > 0) this.#byAccount.set(account, calls);
      this.size--;
      return start;
    }
    return undefined;
  }
}

/**
 * How many calls for the status of ProbeJobs run at once. A whole queue may end together, and an API server that is
 * sent more than it answers within the time-out of a write answers nothing in time. So the bound follows the server: it
 * is halved when a call is not answered in time, and rises by one after as many answers as there are calls. Accounts
 * take turns: one that creates hundreds of jobs with kubectl must not delay the admissions of another.
 */
export class WriteTurns {
  readonly #urgent = new WaitingCalls();
  readonly #later = new WaitingCalls();
  #bound = FIRST;
  #running = 0;
  #turn = 0;
  /** Counts the times that the bound was halved: calls that began before the last one say nothing new. */
  #halved = 0;

  get bound(): number {
    return Math.floor(this.#bound);
  }
  get running(): number {
    return this.#running;
  }
  /** Whether the API server answers in time, and nothing waits for it. */
  get isWell(): boolean {
    return this.waiting === 0 && this.#bound >= FIRST;
  }
  get waiting(): number {
    return this.#urgent.size + this.#later.size;
  }

  async run<T>(call: () => Promise<T>, { account, later = false }: TurnOptions): Promise<T> {
    if (this.#running < this.bound && this.waiting === 0) this.#running++;
    else await new Promise<void>((resolve) => (later ? this.#later : this.#urgent).push(account, resolve));
    const halved = this.#halved;
    try {
      const answer = await call();
      this.#answered();
      return answer;
    } catch (error) {
      if (!isKubeError(error, 'timeout', 'too-many-requests')) this.#answered();
      else if (halved === this.#halved) {
        this.#bound = Math.max(1, this.#bound / 2);
        this.#halved++;
      }
      throw error;
    } finally {
      this.#running--;
      while (this.#running < this.bound && this.#next());
    }
  }

  #answered(): void {
    this.#bound = Math.min(MOST, this.#bound + 1 / this.#bound);
  }

  #next(): boolean {
    const isLatersTurn = this.#urgent.size === 0 || ++this.#turn % LATER_TURN === 0;
    const queue = isLatersTurn && this.#later.size > 0 ? this.#later : this.#urgent;
    const start = queue.next();
    if (start === undefined) return false;
    this.#running++;
    start();
    return true;
  }
}
