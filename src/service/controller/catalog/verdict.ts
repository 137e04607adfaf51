/**
 * Judges a tool image by the end of its proof pod: from the pod and its log to the conditions of the ProbeTool. Pure.
 */
import type { Pod } from '../../../platform/kube/kinds.ts';
import { printable } from '../../../base/printable.ts';
import { isTrue, setConditions, type Change } from '../../../platform/kube/conditions.ts';
import type { Condition } from '../../../platform/kube/resource.ts';
import type { ProbeToolStatus } from '../../../platform/kube/probe_tool.ts';
import type { ProofLine, Proven } from '../../../media/tools/proof.ts';
import { hasEnded } from '../pools/pod.ts';

export type ProofVerdict =
  | { state: 'pending' }
  /** No fault of the image is known: no node has room yet, or a large image is still being pulled. */
  | { state: 'waiting'; reason: 'Unschedulable' | 'Starting'; message: string }
  | { state: 'proven'; line: Proven }
  | { state: 'refused'; reason: string; message: string };

const PENDING: ProofVerdict = { state: 'pending' };
const waits = (reason: 'Unschedulable' | 'Starting', message: string): ProofVerdict => ({
  state: 'waiting',
  reason,
  message,
});
const refused = (reason: string, message: string): ProofVerdict => ({ state: 'refused', reason, message });

/** Waiting reasons from which a pull may still recover, and the time it is given. */
export const PULL_REASONS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'RegistryUnavailable',
]);
const CREATE_REASONS = new Set(['CreateContainerError', 'CreateContainerConfigError', 'RunContainerError']);
export const PULL_PATIENCE_MS = 60_000;
/** A pull of a gigabyte over a slow line takes minutes. */
export const START_PATIENCE_MS = 9 * 60_000;
const SETTLE_MS = 5_000;

export function readProofLine(log: string): ProofLine | undefined {
  for (const line of log.split('\n').toReversed()) {
    if (!line.startsWith('{')) continue;
    try {
      const parsed = JSON.parse(line) as { ok?: unknown };
      if (typeof parsed.ok === 'boolean') return parsed as ProofLine;
    } catch {
      // A truncated line: the one before it may be complete.
    }
  }
  return undefined;
}

/**
 * `since`: creation time by the clock of `now`. Without it, the API server's creation timestamp is used, which may be
 * offset from that clock.
 */
export function judgeProof(pod: Pod, log: string | undefined, now: number, since?: number): ProofVerdict {
  const container = pod.status?.containerStatuses?.[0];
  const age = now - (since ?? Date.parse(pod.metadata.creationTimestamp ?? new Date(now).toISOString()));
  if (!hasEnded(pod)) {
    const waiting = container?.state?.waiting;
    if (waiting?.reason !== undefined && (PULL_REASONS.has(waiting.reason) || CREATE_REASONS.has(waiting.reason))) {
      const never = waiting.reason === 'ErrImageNeverPull' || waiting.reason === 'InvalidImageName';
      if (never || age > (PULL_REASONS.has(waiting.reason) ? PULL_PATIENCE_MS : SETTLE_MS)) {
        const reason = PULL_REASONS.has(waiting.reason) ? 'ImageUnavailable' : 'CannotStart';
        return refused(reason, waiting.message ?? waiting.reason);
      }
    }
    const unschedulable = pod.status?.conditions?.find(
      ({ type, status }) => type === 'PodScheduled' && status === 'False',
    );
    // The pod is kept, because an autoscaler adds a node for a pending pod.
    if (unschedulable)
      return age > SETTLE_MS
        ? waits('Unschedulable', unschedulable.message ?? 'no node has room for the pod')
        : PENDING;
    if (age > START_PATIENCE_MS)
      return refused('CannotStart', `its proof pod did not start within ${Math.round(age / 1000)} s`);
    if (age > PULL_PATIENCE_MS && container?.state?.running === undefined)
      return waits('Starting', `its proof pod has been starting for more than ${PULL_PATIENCE_MS / 1000} s`);
    return PENDING;
  }
  const line = log === undefined ? undefined : readProofLine(log);
  if (line?.ok === true) return { state: 'proven', line };
  if (line?.ok === false) return refused(line.reason, line.message);
  const hasRun =
    container?.state?.terminated !== undefined ||
    container?.state?.running !== undefined ||
    container?.lastState?.terminated !== undefined;
  if (pod.status?.reason === 'DeadlineExceeded' && container && !hasRun)
    return refused('CannotStart', 'its proof pod never started');
  if (pod.status?.reason === 'DeadlineExceeded') return refused('Hangs', 'its proof did not end within its time limit');
  const ended = container?.state?.terminated;
  if (ended?.reason === 'OOMKilled') return refused('OutOfMemory', 'its proof was killed: out of memory');
  // The log is not readable yet, or does not contain the success yet: neither is the image's fault.
  if ((log === undefined || pod.status?.phase === 'Succeeded') && age <= PULL_PATIENCE_MS) return PENDING;
  const why = ended?.message ?? ended?.reason ?? pod.status?.message ?? 'no reason given';
  const message = `its proof ended without a result: ${why} (exit code ${ended?.exitCode ?? 'unknown'})`;
  return refused('Crashed', message.slice(0, 1024));
}

/** A change of a tool's condition: whether it is available at all (`Available`), or left out by pools (`Degraded`). */
export const toolChange = (
  type: 'Available' | 'Degraded',
  status: Condition['status'],
  reason: string,
  message: string,
  generation: number,
): Change => ({ type, status, reason, message: printable(message, 4096), observedGeneration: generation });

export function provenStatus(
  previous: ProbeToolStatus | undefined,
  proof: string,
  verdict: Exclude<ProofVerdict, { state: 'pending' | 'waiting' }>,
  generation: number,
  now: string,
): ProbeToolStatus {
  const show = (status: 'True' | 'False', reason: string, message: string): Condition[] =>
    setConditions(
      previous,
      [
        ...(isTrue(previous, 'Degraded')
          ? [toolChange('Degraded', 'False', 'Proved', 'its image could be pulled again', generation)]
          : []),
        toolChange('Available', status, reason, message, generation),
      ],
      now,
    );
  if (verdict.state === 'refused') {
    return {
      proof,
      observedGeneration: generation,
      conditions: show('False', verdict.reason, verdict.message),
    };
  }
  const { version, startupMs, options, protocols, arch } = verdict.line;
  const architectures = [
    ...(previous?.architectures ?? []).filter((other) => other.arch !== arch),
    {
      arch,
      version: printable(version, 256),
      startupMs: Math.round(startupMs),
      options: options.slice(0, 512),
      protocols: protocols.slice(0, 128),
    },
  ];
  return {
    proof,
    observedGeneration: generation,
    reported: printable(version, 256),
    architectures,
    conditions: show('True', 'Proven', `mounted and executed on ${arch}; starts in ${Math.round(startupMs)} ms`),
  };
}
