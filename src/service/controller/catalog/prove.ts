/**
 * Proves each ProbeTool in a pod of its own: the image is mounted and executed before any pool mounts it. A broken
 * image therefore affects only itself.
 */
import {
  conditionOf,
  isDegraded,
  PROVING,
  setConditions,
  stamp,
  type Change,
} from '../../../platform/kube/conditions.ts';
import { PODS, PROBE_TOOLS, isKubeError, type Pod } from '../../../platform/kube/client.ts';
import type { EventRecorder } from '../../../platform/kube/events.ts';
import type { WorkQueue } from '../../../platform/kube/queue.ts';
import type { Reflector } from '../../../platform/kube/reflector.ts';
import { LABEL, type Condition } from '../../../platform/kube/resource.ts';
import type { ProbeTool, ProbeToolStatus } from '../../../platform/kube/probe_tool.ts';
import type { Config } from '../../../base/config.ts';
import type { ControllerDeps } from '../clients.ts';
import { hasEnded, verifyName, verifyPod, type OwnerReference } from '../pools/pod.ts';
import { whyRefused } from '../pools/pods.ts';
import { judgeProof, provenStatus, toolChange } from './verdict.ts';

/** What the leader knows of the proofs in its term, by tool. */
export const noProofs = () => ({
  triedAt: new Map<string, number>(),
  /** Tools that have a verdict and are being proven again. */
  again: new Set<string>(),
  /** Tools whose images runners are waiting for, with the kubelet's message. */
  stuck: new Map<string, string>(),
  /** Pause between proofs of a degraded tool. */
  pauses: new Map<string, number>(),
  /** The tool that a proof pod was started for, so that its end triggers a reconcile of the tool. */
  toolOf: new Map<string, string>(),
});

export interface ProofDeps extends ReturnType<typeof noProofs>, Pick<ControllerDeps, 'kube' | 'config' | 'log'> {
  events: EventRecorder;
  queue: Pick<WorkQueue, 'addAfter'>;
  /** The caches. */
  tools: Pick<Reflector<ProbeTool>, 'get' | 'list'>;
  pods: Pick<Reflector<Pod>, 'get' | 'list'>;
  stillLeading: () => boolean;
  /** Postgres' clock. */
  now: () => number;
  owner: () => Promise<OwnerReference | undefined>;
}

/** Maximum number of concurrent proofs: a node starts a few pods a second, and runners must start too. */
const AT_ONCE = 3;
const WAIT_MS = 300;
const LOOK_MS = 5_000;
/** Retry interval for a refused image, which may be repaired under the same name. */
const AGAIN_MS = 10 * 60_000;
/**
 * Initial pause, doubled each time: if one node has the image and another does not, pools would otherwise roll back and
 * forth.
 */
const DEGRADED_PAUSE_MS = 10_000;

export const registryAllowed = (image: string, allowed: readonly string[]): boolean =>
  allowed.length === 0 ||
  allowed.some((prefix) => image === prefix || image.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`));

async function setStatus({ deps, name }: Look, status: ProbeToolStatus): Promise<void> {
  await deps.kube.mergePatchStatus(PROBE_TOOLS, name, status);
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

/** One reconcile of one tool. */
interface Look {
  deps: ProofDeps;
  tool: ProbeTool;
  name: string;
  generation: number;
  /** By Postgres' clock. */
  now: number;
  /** Name of the proof pod. It is derived from what is being proven. */
  proof: string;
  /** The `Available` condition. */
  condition: Condition | undefined;
  /** This proof already has a verdict. */
  settled: boolean;
}

const show = (look: Look, change: Change, status: ProbeToolStatus = {}): Promise<void> =>
  setStatus(look, { ...status, conditions: setConditions(look.tool.status, [change], stamp(look.now)) });

const lookAgain = ({ deps, name }: Look): void => deps.queue.addAfter(name, LOOK_MS);

/**
 * When to repeat the proof of a refused or degraded tool. Based on the last try, because the condition keeps its first
 * transition time.
 */
function nextTry({ deps: { triedAt, pauses }, tool, name }: Look): number {
  const since = (type: string): number => Date.parse(conditionOf(tool.status, type)?.lastTransitionTime ?? '') || 0;
  if (isDegraded(tool))
    return Math.max(triedAt.get(name) ?? 0, since('Degraded')) + (pauses.get(name) ?? DEGRADED_PAUSE_MS);
  return (triedAt.get(name) ?? since('Available')) + AGAIN_MS;
}

/** Runners cannot pull the image: pools leave the tool out until it is proven again. */
async function degrade(look: Look, message: string): Promise<void> {
  const { deps, tool, name, generation } = look;
  await show(look, toolChange('Degraded', 'True', 'ImageUnavailable', message, generation));
  slower(deps, name);
  deps.log.warn({ tool: name, reason: 'ImageUnavailable', message }, 'tool degraded');
  deps.events.record(PROBE_TOOLS, tool, { type: 'Warning', reason: 'Degraded', message });
  deps.queue.addAfter(name, deps.pauses.get(name) ?? DEGRADED_PAUSE_MS);
}

async function refuseRegistry(look: Look): Promise<void> {
  const { deps, tool, generation, proof, condition } = look;
  if (condition?.reason === 'RegistryNotAllowed' && tool.status?.proof === proof) return;
  const allowed = deps.config.allowedRegistries.join(', ');
  const message = `the registry of ${tool.spec.image} is not allowed; allowed: ${allowed}`;
  await show(look, toolChange('Available', 'False', 'RegistryNotAllowed', message, generation), {
    proof,
    observedGeneration: generation,
  });
  deps.events.record(PROBE_TOOLS, tool, { type: 'Warning', reason: 'RegistryNotAllowed', message });
}

/** Whether a tool that has a verdict must be proven again now. */
async function isDue(look: Look, pod: Pod | undefined, stuck: string | undefined): Promise<boolean> {
  const { deps, tool, name, now, condition } = look;
  if (pod) await removePod(deps, pod);
  if (condition?.status === 'True' && !isDegraded(tool)) {
    if (stuck !== undefined) await degrade(look, stuck);
    return false;
  }
  const next = nextTry(look);
  if (now >= next) return true;
  deps.queue.addAfter(name, next - now);
  return false;
}

const proofOf = (config: Config<'controller'>, { spec }: ProbeTool): string =>
  verifyName(spec, config.toolsDelivery === 'bundled' ? config.bundledImage : config.runnerImage);

/**
 * Deletes obsolete proof pods: those of a changed or deleted tool, or of a leader of another version. Otherwise a few
 * of them would block all others forever.
 */
async function endStrays(deps: ProofDeps): Promise<Pod[]> {
  const awaited = new Set(deps.tools.list().map((tool) => proofOf(deps.config, tool)));
  const [running, strays] = [[] as Pod[], [] as Pod[]];
  const proofs = deps.pods.list().filter((pod) => isProofPod(pod) && pod.metadata.deletionTimestamp === undefined);
  for (const pod of proofs) (awaited.has(pod.metadata.name) ? running : strays).push(pod);
  for (const stray of strays) await removePod(deps, stray);
  return running;
}

async function startProof(look: Look): Promise<void> {
  const { deps, tool, name, generation, now, proof, condition } = look;
  const running = await endStrays(deps);
  if (running.length >= AT_ONCE) {
    deps.queue.addAfter(name, WAIT_MS);
    return;
  }
  try {
    await deps.kube.create(PODS, verifyPod(deps.config, tool.spec, proof, await deps.owner()), {
      namespace: deps.config.runnerNamespace,
    });
  } catch (error) {
    if (!isKubeError(error, 'already-exists')) {
      // A proven image stays in use meanwhile.
      if (condition?.status !== 'True' && isKubeError(error, 'forbidden'))
        await show(
          look,
          toolChange('Available', 'Unknown', whyRefused(error), error.message.slice(0, 512), generation),
        );
      throw error;
    }
  }
  // An image that is already proven stays in use while it is proven with another runner image.
  if (condition === undefined || tool.status?.observedGeneration !== generation)
    await show(
      look,
      toolChange('Available', 'Unknown', PROVING, `mounting and executing it in the pod ${proof}`, generation),
    );
  deps.triedAt.set(name, now);
  lookAgain(look);
}

async function followProof(look: Look, pod: Pod): Promise<void> {
  const { deps, tool, name, generation, now, proof, condition, settled } = look;
  const output = hasEnded(pod)
    ? await deps.kube
        .logs(pod.metadata.name, { namespace: deps.config.runnerNamespace, limitBytes: 1_000_000 })
        .catch(() => undefined)
    : undefined;
  // A pod of the previous leader gets the full time limit. Its age by the API server's clock would include the offset
  // between the clocks.
  if (!deps.triedAt.has(name)) deps.triedAt.set(name, now);
  const verdict = judgeProof(pod, output, now, deps.triedAt.get(name));
  if (verdict.state === 'pending') return lookAgain(look);
  if (verdict.state === 'waiting') {
    // A proven image stays in use meanwhile.
    if (condition?.status !== 'True' && (condition?.reason !== verdict.reason || condition.message !== verdict.message))
      await show(look, toolChange('Available', 'Unknown', verdict.reason, verdict.message, generation));
    return lookAgain(look);
  }
  deps.again.delete(name);
  const isStillAway = verdict.state === 'refused' && verdict.reason === 'ImageUnavailable';
  // A failed pull says nothing about the image itself: jobs that ask for this version wait for it.
  if (isStillAway && settled && condition?.status === 'True' && isDegraded(tool)) {
    slower(deps, name);
    await show(look, toolChange('Degraded', 'True', verdict.reason, verdict.message, generation));
  } else {
    await setStatus(look, provenStatus(tool.status, proof, verdict, generation, stamp(now)));
    if (verdict.state === 'proven')
      deps.log.info({ tool: name, version: verdict.line.version, startupMs: verdict.line.startupMs }, 'tool proven');
    else {
      const { reason, message } = verdict;
      deps.log.warn({ tool: name, reason, message }, 'tool refused');
      deps.events.record(PROBE_TOOLS, tool, { type: 'Warning', reason, message });
    }
  }
  await removePod(deps, pod);
  lookAgain(look);
}

/** One reconcile step of a tool, called whenever the tool, its proof pod or the time changed. */
export async function proveTool(deps: ProofDeps, name: string): Promise<void> {
  const { config } = deps;
  const tool = deps.tools.get(`${config.namespace}/${name}`);
  if (!tool || !deps.stillLeading()) return;
  const proof = proofOf(config, tool);
  const condition = conditionOf(tool.status, 'Available');
  const settled = tool.status?.proof === proof && condition !== undefined && condition.status !== 'Unknown';
  const generation = tool.metadata.generation ?? 0;
  const look: Look = { deps, tool, name, generation, now: deps.now(), proof, condition, settled };
  const pod = deps.pods.get(`${config.runnerNamespace}/${proof}`);
  deps.toolOf.set(proof, name);
  if (!registryAllowed(tool.spec.image, config.allowedRegistries)) return refuseRegistry(look);
  // Consumed here: pools report it every second for as long as it lasts.
  const stuck = deps.stuck.get(name);
  deps.stuck.delete(name);
  if (settled && !deps.again.has(name)) {
    if (!(await isDue(look, pod, stuck))) return;
    deps.again.add(name);
  }
  await (pod ? followProof(look, pod) : startProof(look));
}

export const isProofPod = (pod: Pod): boolean => pod.metadata.labels?.[LABEL.component] === 'verify';
export const isRunnerPod = (pod: Pod): boolean => pod.metadata.labels?.[LABEL.component] === 'runner';
