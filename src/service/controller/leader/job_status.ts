/** The status of a ProbeJob at each step of its life, as shown by `kubectl get pj` and `describe pj`. Pure. */
import { runKey, type Closed } from '../../../platform/bus/messages.ts';
import { isTrue, setConditions, type Change } from '../../../platform/kube/conditions.ts';
import { printable } from '../../../platform/kube/printable.ts';
import type { Condition } from '../../../platform/kube/resource.ts';
import type { ProbeJob, ProbeJobStatus, Reason, WaitingCause } from '../../../platform/kube/probe_job.ts';
import type { ToolName } from '../../../media/tools/table.ts';

const admitted = (status: Condition['status'], reason: string, message: string): Change => ({
  type: 'Admitted',
  status,
  reason,
  message,
});
const succeeded = (status: Condition['status'], reason: Reason, message: string): Change => ({
  type: 'Succeeded',
  status,
  reason,
  message,
});

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
  const again = admission.attempt > 1 ? ` (attempt ${admission.attempt})` : '';
  const tools = admission.tools.map(({ name, version }) => `${name} ${version}`).join(' and ');
  const of = admission.ofTwo ? ' of two sources' : '';
  return {
    conditions: setConditions(
      previous,
      [
        admitted('True', 'Admitted', `admitted at ${now}: holds a slot of its token`),
        succeeded('Unknown', 'Running', `${tools}${of} on ${admission.runner.pod}${again}`),
      ],
      now,
    ),
    admittedBy: {
      holder: admission.holder,
      epoch: admission.epoch,
      token: admission.token,
      account: admission.account,
    },
    // A retry keeps the first start: time-outs and queue time count from the first admission.
    startedAt: previous?.startedAt ?? now,
    queueTimeMs: previous?.queueTimeMs ?? admission.queueTimeMs,
    attempts: admission.attempt,
    runner: admission.runner,
    tools: admission.tools,
    resultPath: admission.resultPath,
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
  };
}

/** Deletion counts as done once requested, because a foreign finalizer may keep the object forever. */
export const isBeingDeleted = ({ metadata }: Pick<ProbeJob, 'metadata'>): boolean =>
  metadata.deletionTimestamp !== undefined;
