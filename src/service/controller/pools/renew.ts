/**
 * Renews a runner: its pod goes to another tenant, and its agent becomes a new process with another NATS identity. The
 * agent is asked first, then the pod's annotation is written. Between the two neither life gets a job, so no crash
 * leaves a runner that serves two tenants: see docs/decisions/0039-runners-are-renewed.md.
 */
import { PODS, PROBE_POOLS, isKubeError, type Pod } from '../../../platform/kube/client.ts';
import { runnerFields } from '../../../base/log.ts';
import { sendRenew } from '../leader/orders.ts';
import { factsOf, lifeOfPod, lifePatch } from './life.ts';
import type { PoolPlan } from './plan.ts';
import { endPod } from './pods.ts';
import { now, type PoolState, type PoolsState } from './pools_state.ts';
import type { Runner } from './runners.ts';

const WRITE_MS = 2_000;
/** An Event of each renewal would be a second write to the API server. */
const SHOW_MS = 60_000;
/** The pod may have changed meanwhile, or the answer was lost. */
const TRIES = 3;

export async function renewRunner(
  pools: PoolsState,
  state: PoolState,
  runner: Runner,
  why: PoolPlan['renew'][number]['why'],
): Promise<void> {
  const { bus, epoch, runners, metrics, log, events, signal } = pools.deps;
  const { uid, pool } = runner;
  const since = now();
  runners.renew(uid);
  const giveUp = (outcome: 'refused' | 'failed', reason: string, err?: unknown): void => {
    if (signal.aborted) return;
    metrics.renewed(pool, outcome);
    log.warn({ pool, ...runnerFields(runner), why, reason, err }, 'runner not renewed, ending its pod');
    const message = 'a runner could not be renewed for another tenant, so its pod is ended; the log has the reason';
    events.record(PROBE_POOLS, state.pool, { type: 'Warning', reason: 'NotRenewed', message });
    endPod(pools, uid, why);
  };
  const said = await sendRenew(bus, uid, { epoch });
  if (!said.ok) return giveUp('refused', said.why);
  try {
    const pod = await writeLife(pools, runner);
    // The term is over, or the pod. Its agent waits for a life that nobody grants, until its pod is ended as silent.
    if (pod === undefined) return;
    const { lost } = runners.pod(factsOf(pod), now());
    if (lost) pools.deps.podGone(lost);
    metrics.renewed(pool, 'renewed');
    const next = runners.ofPod(runner.podUid);
    log.info({ pool, ...runnerFields(next ?? runner), why, ms: Math.round(now() - since) }, 'runner renewed');
    if (now() - state.renewedShownAt > SHOW_MS) {
      state.renewedShownAt = now();
      const message = 'runners begin another life in their pods, because other tenants want their places';
      events.record(PROBE_POOLS, state.pool, { type: 'Normal', reason: 'Renewed', message });
    }
    pools.plan(state);
  } catch (error) {
    giveUp('failed', 'cannot write the life of the pod', error);
  }
}

/** Undefined if it must not be written: this term is over, or the pod. */
async function writeLife(pools: PoolsState, { uid, podUid, pod, life, version }: Runner): Promise<Pod | undefined> {
  const { kube, config, runners } = pools.deps;
  const options = { namespace: config.runnerNamespace, deadlineMs: WRITE_MS };
  let resourceVersion = version;
  for (let tries = 1; ; tries++) {
    if (!pools.deps.stillLeading() || runners.get(uid)?.deleting !== false) return undefined;
    try {
      return await kube.mergePatch(PODS, pod, lifePatch(podUid, life + 1), { ...options, resourceVersion });
    } catch (error) {
      if (tries === TRIES || !isKubeError(error, 'conflict', 'timeout', 'unreachable', 'unavailable')) throw error;
      const found = await kube.get(PODS, pod, options);
      if (found.metadata.uid !== podUid) throw error;
      if (lifeOfPod(found) === life + 1) return found;
      if (lifeOfPod(found) !== life || found.metadata.deletionTimestamp !== undefined) throw error;
      resourceVersion = found.metadata.resourceVersion;
    }
  }
}
