/**
 * Proves each ProbeTool in a pod of its own, mounted and executed, before any pool mounts it. A broken image hurts
 * nothing but itself.
 */
import { PODS, PROBE_TOOLS, isKubeError, type KubeClient, type Pod } from '../../kube/client.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { WorkQueue } from '../../kube/queue.ts';
import { LABEL, type ProbeTool, type ProbeToolStatus } from '../../kube/resources.ts';
import type { Config } from '../../config.ts';
import type { Logger } from '../../log.ts';
import type { OwnerReference } from '../pools/pod_owner.ts';
import { hasEnded, verifyName, verifyPod } from '../pools/pod.ts';
import { isDegraded } from '../pools/stuck_tools.ts';
import { availability, degraded, judgeProof, provenStatus } from './verdict.ts';

export interface ProofDeps {
  kube: KubeClient;
  config: Config<'controller'>;
  log: Logger;
  events: EventRecorder;
  queue: WorkQueue;
  getTool: (name: string) => ProbeTool | undefined;
  /** Proof pods by name, and how many there are. */
  getPod: (name: string) => Pod | undefined;
  proofsRunning: () => number;
  stillLeading: () => boolean;
  owner: () => Promise<OwnerReference | undefined>;
  triedAt: Map<string, number>;
  /** Tools whose proof is on its way again, though there is a verdict on it. */
  again: Set<string>;
  /** Tools whose images runners wait for, with the kubelet's words. */
  stuck: Map<string, string>;
  /** How long the proof of a degraded tool waits, by tool. */
  pauses: Map<string, number>;
  /** So that the pod's end wakes the tool. */
  started: (pod: string, tool: string) => void;
}

/** Proofs side by side: a node starts a few pods a second, and runners need to start, too. */
const AT_ONCE = 3;
const WAIT_MS = 300;
const LOOK_MS = 5_000;
/** A refused image may be mended under the same name: it is tried again, seldom. */
const AGAIN_MS = 10 * 60_000;
/** Doubled each time: where one node has the image and another has not, pools would roll back and forth. */
const DEGRADED_PAUSE_MS = 10_000;

export const registryAllowed = (image: string, allowed: readonly string[]): boolean =>
  allowed.length === 0 ||
  allowed.some((prefix) => image === prefix || image.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`));

async function setStatus(deps: ProofDeps, tool: ProbeTool, status: ProbeToolStatus): Promise<void> {
  await deps.kube.mergePatchStatus(PROBE_TOOLS, tool.metadata.name, status);
}

async function removePod(deps: ProofDeps, pod: Pod): Promise<void> {
  try {
    await deps.kube.delete(PODS, pod.metadata.name, { namespace: deps.config.runnerNamespace, gracePeriodSeconds: 0 });
  } catch (error) {
    if (!isKubeError(error, 'not-found')) throw error;
  }
}

const slower = (deps: ProofDeps, name: string): void => {
  deps.pauses.set(name, Math.min((deps.pauses.get(name) ?? DEGRADED_PAUSE_MS / 2) * 2, AGAIN_MS));
};

/**
 * When the proof of a tool that has a verdict is to be made again: refused, or degraded. By the last try and not by the
 * condition, which keeps its transition time.
 */
function nextTry({ triedAt, pauses }: ProofDeps, tool: ProbeTool): number {
  const { name } = tool.metadata;
  const since = (type: string): number =>
    Date.parse(tool.status?.conditions?.find((one) => one.type === type)?.lastTransitionTime ?? '') || 0;
  if (isDegraded(tool))
    return Math.max(triedAt.get(name) ?? 0, since('Degraded')) + (pauses.get(name) ?? DEGRADED_PAUSE_MS);
  return (triedAt.get(name) ?? since('Available')) + AGAIN_MS;
}

/** Runners cannot get its image: pools leave it out until it is proven again. */
async function degrade(deps: ProofDeps, tool: ProbeTool, message: string): Promise<void> {
  const { name, generation = 0 } = tool.metadata;
  await setStatus(deps, tool, {
    conditions: degraded(
      tool.status?.conditions,
      'True',
      'ImageUnavailable',
      message,
      generation,
      new Date().toISOString(),
    ),
  });
  slower(deps, name);
  deps.log.warn({ tool: name, reason: 'ImageUnavailable', message }, 'tool degraded');
  deps.events.record(PROBE_TOOLS, tool, { type: 'Warning', reason: 'Degraded', message });
  deps.queue.addAfter(name, deps.pauses.get(name) ?? DEGRADED_PAUSE_MS, { low: true });
}

/** One step for one tool; called again whenever it, its proof pod or time changed. */
export async function proveTool(deps: ProofDeps, name: string): Promise<void> {
  const { kube, config, log, queue, events } = deps;
  const tool = deps.getTool(name);
  if (!tool || !deps.stillLeading()) return;
  const generation = tool.metadata.generation ?? 0;
  const now = new Date();
  const proof = verifyName(tool.spec, config.toolsDelivery === 'bundled' ? config.bundledImage : config.runnerImage);
  const condition = tool.status?.conditions?.find(({ type }) => type === 'Available');
  const pod = deps.getPod(proof);
  deps.started(proof, name);

  if (!registryAllowed(tool.spec.image, config.allowedRegistries)) {
    if (condition?.reason !== 'RegistryNotAllowed' || tool.status?.proof !== proof) {
      const message = `${tool.spec.image} is from a registry that is not on the operator's list: ${config.allowedRegistries.join(', ')}`;
      await setStatus(deps, tool, {
        proof,
        observedGeneration: generation,
        conditions: availability(
          tool.status?.conditions,
          'False',
          'RegistryNotAllowed',
          message,
          generation,
          now.toISOString(),
        ),
      });
      events.record(PROBE_TOOLS, tool, { type: 'Warning', reason: 'RegistryNotAllowed', message });
    }
    return;
  }

  const settled = tool.status?.proof === proof && condition !== undefined && condition.status !== 'Unknown';
  // Pools say so again each second, as long as it is so.
  const stuck = deps.stuck.get(name);
  deps.stuck.delete(name);
  if (settled && !deps.again.has(name)) {
    if (pod) await removePod(deps, pod);
    if (condition.status === 'True' && !isDegraded(tool)) {
      if (stuck !== undefined) await degrade(deps, tool, stuck);
      return;
    }
    const next = nextTry(deps, tool);
    if (now.getTime() < next) {
      queue.addAfter(name, next - now.getTime(), { low: true });
      return;
    }
    deps.again.add(name);
  }

  if (!pod) {
    if (deps.proofsRunning() >= AT_ONCE) {
      queue.addAfter(name, WAIT_MS, { low: true });
      return;
    }
    try {
      await kube.create(PODS, verifyPod(config, tool.spec, proof, await deps.owner()), {
        namespace: config.runnerNamespace,
      });
    } catch (error) {
      if (!isKubeError(error, 'already-exists')) throw error;
    }
    // An image that was proven before stays in use while another runner image proves it again.
    if (condition === undefined || tool.status?.observedGeneration !== generation) {
      await setStatus(deps, tool, {
        conditions: availability(
          tool.status?.conditions,
          'Unknown',
          'Proving',
          `mounting and executing it in the pod ${proof}`,
          generation,
          now.toISOString(),
        ),
      });
    }
    deps.triedAt.set(name, now.getTime());
    queue.addAfter(name, LOOK_MS, { low: true });
    return;
  }

  const log_ = hasEnded(pod)
    ? await kube
        .logs(pod.metadata.name, { namespace: config.runnerNamespace, limitBytes: 1_000_000 })
        .catch(() => undefined)
    : undefined;
  // A pod of the leader before us has our whole patience: its age by the API server's clock would be off by what ours
  // is.
  if (!deps.triedAt.has(name)) deps.triedAt.set(name, now.getTime());
  const verdict = judgeProof(pod, log_, now.getTime(), deps.triedAt.get(name));
  if (verdict.state === 'pending') {
    queue.addAfter(name, LOOK_MS, { low: true });
    return;
  }
  if (verdict.state === 'waiting') {
    // An image that was proven before stays in use meanwhile.
    if (
      condition?.status !== 'True' &&
      (condition?.reason !== verdict.reason || condition.message !== verdict.message)
    ) {
      await setStatus(deps, tool, {
        conditions: availability(
          tool.status?.conditions,
          'Unknown',
          verdict.reason,
          verdict.message,
          generation,
          now.toISOString(),
        ),
      });
    }
    queue.addAfter(name, LOOK_MS, { low: true });
    return;
  }
  deps.again.delete(name);
  // Its image is still away, which says nothing of what is in it: jobs that ask for it wait for it.
  if (
    verdict.state === 'refused' &&
    verdict.reason === 'ImageUnavailable' &&
    settled &&
    condition.status === 'True' &&
    isDegraded(tool)
  ) {
    slower(deps, name);
    await setStatus(deps, tool, {
      conditions: degraded(
        tool.status?.conditions,
        'True',
        verdict.reason,
        verdict.message,
        generation,
        now.toISOString(),
      ),
    });
    await removePod(deps, pod);
    queue.addAfter(name, LOOK_MS, { low: true });
    return;
  }
  await setStatus(deps, tool, provenStatus(tool.status, proof, verdict, generation, now.toISOString()));
  if (verdict.state === 'proven')
    log.info({ tool: name, version: verdict.line.version, startupMs: verdict.line.startupMs }, 'tool proven');
  else {
    log.warn({ tool: name, reason: verdict.reason, message: verdict.message }, 'tool refused');
    events.record(PROBE_TOOLS, tool, { type: 'Warning', reason: verdict.reason, message: verdict.message });
  }
  await removePod(deps, pod);
  queue.addAfter(name, LOOK_MS, { low: true });
}

export const isProofPod = (pod: Pod): boolean => pod.metadata.labels?.[LABEL.component] === 'verify';
export const isRunnerPod = (pod: Pod): boolean => pod.metadata.labels?.[LABEL.component] === 'runner';
