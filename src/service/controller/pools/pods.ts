/**
 * Creates, renews and ends the pods of a pool as planned, and holds creation back if the cluster accepts no more. Nodes
 * may lack user namespaces and report it only in Events: a pool that prefers them then creates its runners without.
 */
import { PODS, PROBE_POOLS, isKubeError, isOverQuota, type Pod, EVENTS } from '../../../platform/kube/client.ts';
import { runnerFields } from '../../../base/log.ts';
import { retry } from '../../../base/retry.ts';
import {
  END_PAUSE_MS,
  endsInTurn,
  isBooting,
  mayRestart,
  nodeOf,
  planPool,
  whyWorn,
  type PoolPlan,
  type Renewal,
} from './plan.ts';
import { HOLD_BACK_MS, now, type PoolState, type PoolsState } from './state.ts';
import { isReturning, type Runner } from './runners.ts';
import { isLasting } from './share.ts';
import { lackedWalls, isWithoutUserNamespaces, requiredWalls } from './isolation.ts';
import { podSuffix, runnerPod, watchedPod, lifeOfPod, lifePatch, tenantPatch, type OwnerReference } from './pod.ts';
import { OwnerMissing } from './runner_namespace.ts';
import { sendRenew } from './send_order.ts';
import { printable } from '../../../base/printable.ts';

const DELETE_PAUSES = { first: 100, longest: 5_000 };

export function endPod(pools: PoolsState, uid: string, why: string): void {
  const runner = pools.deps.runners.get(uid);
  if (!runner) return;
  if (!runner.deleting) pools.deps.metrics.podJobs(runner.pool, runner.jobsDone);
  pools.deps.runners.retire(uid);
  void deletePod(pools, runner, why, graceSeconds(why, runner, now()));
}

/** Grace period in seconds. Undefined: the pod's own, in which it drains. */
export function graceSeconds(
  why: string,
  runner: Pick<Runner, 'phase' | 'task' | 'createdAt'>,
  at: number,
): number | undefined {
  if (why === 'silent' || why === 'never-ready' || why === 'ended') return 0;
  // There is nothing to drain yet.
  return isBooting(runner, at) && runner.task === undefined ? 5 : undefined;
}

export async function deletePod(
  pools: PoolsState,
  { pod, podUid: uid, pool }: Pick<Runner, 'pod' | 'podUid' | 'pool'>,
  why: string,
  gracePeriodSeconds: number | undefined,
): Promise<void> {
  const { kube, config, log, metrics, recent, signal } = pools.deps;
  if (signal.aborted || pools.deleted.has(uid)) return;
  pools.deleted.add(uid);
  metrics.podEnded(pool, why);
  recent.podEnded(pool, pod, why);
  try {
    await retry(() => kube.delete(PODS, pod, { namespace: config.runnerNamespace, uid, gracePeriodSeconds }), {
      ...DELETE_PAUSES,
      signal,
      when: (error) => !isKubeError(error, 'not-found', 'conflict'),
    });
    log.info({ pool, ...runnerFields({ pod, uid }), why }, 'runner pod ended');
  } catch {
    // The pod no longer exists, or the term is over.
  }
}

/** Ends idle pods of pools that no longer exist, including pools deleted while there was no leader. */
export function endStranded(pools: PoolsState): void {
  for (const runner of pools.deps.runners.all())
    if (!pools.byName.has(runner.pool) && !runner.task && !runner.deleting) endPod(pools, runner.uid, 'pool-gone');
}

/**
 * With a full queue a runner gets its next job at once, and the plan never sees it free. So it is checked between two
 * jobs. Runners are replaced one at a time, to keep the pool working: a worn one may do a few jobs more.
 */
export function replaceWorn(pools: PoolsState, state: PoolState, runner: Runner): void {
  const { tenant, task, deleting, renewing } = runner;
  // A new leader hears runners before it knows what they should be made of.
  if (!pools.started) return;
  if (tenant === undefined || task || deleting || renewing || !pools.deps.stillLeading()) return;
  const present = presentOf(state);
  const worn = whyWorn(present, runner);
  const why = worn ?? (runner.generation === state.generation ? undefined : 'old-generation');
  if (why === undefined) return;
  const others = [...pools.deps.runners.inPool(state.pool.metadata.name)];
  if (worn && mayRestart(present, runner)) {
    if (!others.some(isReturning)) void renewRunner(pools, state, { runner, why: worn, keepsTenant: true });
    return;
  }
  const isComing = state.unseen.size > 0 || others.some((other) => other.phase === 'starting' && !other.deleting);
  if (!isComing) endPod(pools, runner.uid, why);
}

/** What a plan needs of the pool itself. */
const presentOf = ({ pool: { spec }, generation }: PoolState) => ({
  spec,
  generation,
  now: now(),
  lacksWall: ({ walls }: Runner): boolean => lackedWalls(spec, walls).length > 0,
});

/** Ranges: from the messages of the admission plugin LimitRanger. */
export function whyRefused(error: unknown): 'QuotaExceeded' | 'LimitRange' | 'CreateFailed' {
  if (isOverQuota(error)) return 'QuotaExceeded';
  if (!isKubeError(error, 'forbidden')) return 'CreateFailed';
  const isRange = /(minimum|maximum) .* per (Container|Pod)|to limit ratio per/i.test(error.message);
  return isRange ? 'LimitRange' : 'CreateFailed';
}

export function holdBack(pools: PoolsState, state: PoolState, reason: string, message: string): void {
  if (now() < state.holdUntil) return;
  state.problem = { reason, message: message.slice(0, 512) };
  state.holdUntil = now() + state.holdMs;
  state.holdMs = Math.min(state.holdMs * 2, HOLD_BACK_MS[1]);
  pools.deps.log.warn({ pool: state.pool.metadata.name, reason, message }, 'runner pod creation paused');
  pools.deps.events.record(PROBE_POOLS, state.pool, { type: 'Warning', reason, message: state.problem.message });
  // A quiet cluster causes no other event, so plan again when the hold is over.
  setTimeout(() => pools.plan(state), state.holdUntil - now() + 1).unref();
}

/** A created pod that the watch has not shown by then does not exist, or no longer. */
const UNSEEN_MS = 60_000;

export async function carryOut(pools: PoolsState, state: PoolState): Promise<void> {
  if (state.planning) {
    state.again = true;
    return;
  }
  if (!pools.deps.stillLeading()) return;
  state.planning = true;
  try {
    if (state.draining) return await drain(pools, state);
    const { create, end, renew } = planned(pools, state);
    for (const renewal of renew) void renewRunner(pools, state, renewal);
    for (const { runner, why } of end) {
      if (endsInTurn(why)) state.endedOn.set(nodeOf(runner), now());
      endPod(pools, runner.uid, why);
    }
    if (create > 0) await Promise.all(Array.from({ length: create }, () => createPod(pools, state)));
  } finally {
    state.planning = false;
    if (state.again) {
      state.again = false;
      pools.plan(state);
    }
  }
}

function planned(pools: PoolsState, state: PoolState): PoolPlan {
  const { runners, demand } = pools.deps;
  const name = state.pool.metadata.name;
  const present = presentOf(state);
  const at = present.now;
  for (const [pod, since] of state.unseen) if (at - since > UNSEEN_MS) state.unseen.delete(pod);
  for (const [node, since] of state.endedOn) if (at - since >= END_PAUSE_MS) state.endedOn.delete(node);
  state.taken = state.taken.filter((time) => at - time < 2_000);
  return planPool({
    ...present,
    runners: [...runners.inPool(name)],
    unseen: state.unseen.size,
    demand: { waiting: demand(name), drainPerSecond: state.taken.length / 2 },
    failedStarts: state.failedStarts,
    holdBack: at < state.holdUntil || pools.mounted.length === 0,
    endedOn: state.endedOn,
  });
}

async function createPod(pools: PoolsState, state: PoolState): Promise<void> {
  const { kube, config, metrics, log } = pools.deps;
  const { pool, generation } = state;
  let owner: OwnerReference | undefined;
  try {
    owner = await pools.deps.owner();
  } catch (error) {
    holdBack(pools, state, error instanceof OwnerMissing ? 'OwnerMissing' : 'CreateFailed', (error as Error).message);
    return;
  }
  const pod = runnerPod(config, {
    pool: pool.metadata.name,
    spec: pool.spec,
    suffix: podSuffix(),
    generation,
    tools: pools.mounted,
    userNamespace: wantsUserNamespace(pools, state),
    owner,
  });
  // Counted before the response: the watch may show the pod before the call returns, and a second plan may run
  // meanwhile.
  state.unseen.set(pod.metadata.name, now());
  try {
    const {
      metadata: { name, uid },
    } = await kube.create(PODS, pod, { namespace: config.runnerNamespace, deadlineMs: 10_000 });
    metrics.podMade(pool.metadata.name);
    if (now() > state.holdUntil) state.problem = undefined;
    log.info({ pool: pool.metadata.name, ...runnerFields({ pod: name, uid }), generation }, 'runner pod created');
  } catch (error) {
    if (isKubeError(error, 'timeout', 'unreachable', 'internal', 'unavailable')) {
      // The pod may exist: it stays counted until the watch shows it or UNSEEN_MS has passed.
      log.warn({ err: error, pool: pool.metadata.name }, 'no response to a runner pod creation, waiting for the watch');
      return;
    }
    state.unseen.delete(pod.metadata.name);
    // Without its random name, each repetition says the same: Events are counted, and the condition stays as it is.
    const said = (error as Error).message.replaceAll(pod.metadata.name, `runner-${pool.metadata.name}-*`);
    holdBack(pools, state, whyRefused(error), said);
  }
}

/** Ends idle runners at once and the others after their job, then deletes the pool. */
async function drain(pools: PoolsState, state: PoolState): Promise<void> {
  const { runners, kube } = pools.deps;
  const { name, uid } = state.pool.metadata;
  let left = state.unseen.size;
  for (const runner of runners.inPool(name)) {
    left++;
    if (!runner.task && !runner.deleting) endPod(pools, runner.uid, 'pool-gone');
  }
  if (left > 0) return;
  await kube.delete(PROBE_POOLS, name, { uid }).catch((error: unknown) => {
    if (!isKubeError(error, 'not-found', 'conflict')) throw error;
  });
}

const WRITE_MS = 2_000;
/** An Event of each renewal would be a second write to the API server. */
const SHOW_MS = 60_000;
/** The pod may have changed meanwhile, or the answer was lost. */
const TRIES = 3;

/**
 * Renews a runner: its agent becomes a new process with another NATS identity, for the same tenant or for others. The
 * agent is asked first, then the pod's annotations are written. Between the two neither life gets a job, so no crash
 * leaves a runner that serves two tenants: see docs/decisions/0009-runners-are-renewed.md.
 */
async function renewRunner(pools: PoolsState, state: PoolState, { runner, why, keepsTenant }: Renewal): Promise<void> {
  const { bus, epoch, runners, metrics, log, events, signal } = pools.deps;
  const { uid, pool } = runner;
  const since = now();
  runners.renew(uid, keepsTenant);
  const giveUp = (outcome: 'refused' | 'failed', reason: string, err?: unknown): void => {
    if (signal.aborted) return;
    metrics.renewed(pool, outcome);
    log.warn({ pool, ...runnerFields(runner), why, reason, err }, 'runner not renewed, ending its pod');
    const message = 'a runner could not be renewed, so its pod is ended; the log has the reason';
    events.record(PROBE_POOLS, state.pool, { type: 'Warning', reason: 'NotRenewed', message });
    endPod(pools, uid, why);
  };
  const said = await sendRenew(bus, uid, { epoch });
  if (!said.ok) return giveUp('refused', said.why);
  try {
    const pod = await writeLife(pools, runner, keepsTenant ? runner.tenant : undefined);
    // The term is over, or the pod. Its agent waits for a life that nobody grants, until its pod is ended as silent.
    if (pod === undefined || !runners.ofPod(runner.podUid)) return;
    const { lost } = runners.pod(watchedPod(pod, pools.deps.now()), now());
    if (lost) pools.deps.podGone(lost);
    metrics.renewed(pool, 'renewed');
    const next = runners.ofPod(runner.podUid);
    log.info({ pool, ...runnerFields(next ?? runner), why, ms: Math.round(now() - since) }, 'runner renewed');
    if (!keepsTenant && now() - state.renewedShownAt > SHOW_MS) {
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
async function writeLife(
  pools: PoolsState,
  { uid, podUid, pod, life, version }: Runner,
  tenant: string | undefined,
): Promise<Pod | undefined> {
  const { kube, config, runners } = pools.deps;
  const options = { namespace: config.runnerNamespace, deadlineMs: WRITE_MS };
  let resourceVersion = version;
  for (let tries = 1; ; tries++) {
    if (!pools.deps.stillLeading() || runners.get(uid)?.deleting !== false) return undefined;
    try {
      return await kube.mergePatch(PODS, pod, lifePatch(podUid, life + 1, tenant), { ...options, resourceVersion });
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

/** Per second. The others follow in the next one. */
const NOTED_AT_ONCE = 20;

interface Bound extends Runner {
  tenant: string;
}
const isUnnoted = (runner: Runner): runner is Bound => {
  const { tenant, noted, deleting, renewing } = runner;
  return tenant !== undefined && tenant !== noted && isLasting(tenant) && !deleting && !renewing;
};

/**
 * Writes to pods which tenants have them. A job says so, too, but is deleted before its runner: the next leader would
 * have to believe the agent.
 */
export async function noteTenants(pools: PoolsState): Promise<void> {
  const { kube, config, log, runners, stillLeading } = pools.deps;
  if (!stillLeading()) return;
  const note = async ({ uid, podUid, pod, tenant, version: resourceVersion }: Bound): Promise<void> => {
    try {
      // Of this version, because another life may have begun.
      const options = { namespace: config.runnerNamespace, deadlineMs: WRITE_MS, resourceVersion };
      await kube.mergePatch(PODS, pod, tenantPatch(podUid, tenant), options);
    } catch (error) {
      if (isKubeError(error, 'not-found', 'conflict', 'invalid')) return;
      log.debug({ err: error, ...runnerFields({ pod, uid }) }, 'cannot note the tenant of a runner, will retry');
    }
  };
  await Promise.all([...runners.all()].filter(isUnnoted).slice(0, NOTED_AT_ONCE).map(note));
}

/** Age at which a pod that requests a user namespace and has not started is checked, and the interval of checks. */
const STUCK_MS = 8_000;
const LOOK_MS = 5_000;
/** Nodes are replaced and updated, so a pool without user namespaces tries them again. */
const AGAIN_MS = 30 * 60_000;

const isStuck = ({ phase, life, userNamespace, deleting, createdAt }: Runner, at: number): boolean =>
  phase === 'starting' && life === 0 && userNamespace && !deleting && at - createdAt > STUCK_MS;

export function wantsUserNamespace(pools: PoolsState, state: PoolState): boolean {
  const { userNamespaces = 'Preferred' } = state.pool.spec;
  if (requiredWalls(state.pool.spec).includes('UserNamespace') || userNamespaces === 'Required') return true;
  if (userNamespaces === 'Disabled') return false;
  if (state.without === undefined) return true;
  if (now() < state.without.until) return false;
  // One runner tries again; those created beside it do without.
  return ![...pools.deps.runners.inPool(state.pool.metadata.name)].some(
    ({ phase, life, userNamespace, deleting }) => phase === 'starting' && life === 0 && userNamespace && !deleting,
  );
}

/**
 * On nodes without user namespaces the pod's creation hangs forever; a slow pull looks the same for a while. The
 * kubelet's Events distinguish them.
 */
export async function lookAtStuck(pools: PoolsState, state: PoolState): Promise<void> {
  const { kube, config, runners } = pools.deps;
  if (now() - state.lookedAt < LOOK_MS) return;
  const stuck = [...runners.inPool(state.pool.metadata.name)].find((runner) => isStuck(runner, now()));
  if (!stuck) return;
  state.lookedAt = now();
  const { items } = await kube.list(EVENTS, {
    namespace: config.runnerNamespace,
    fieldSelector: `involvedObject.uid=${stuck.podUid}`,
    limit: 50,
  });
  const said = items.find(
    ({ reason, message }) =>
      (reason === 'FailedCreatePodSandBox' || reason === 'Failed') && isWithoutUserNamespaces(message),
  );
  if (said) noUserNamespace(pools, state, said.message ?? '');
}

export function noUserNamespace(pools: PoolsState, state: PoolState, said: string): void {
  const { runners, log, events } = pools.deps;
  const message = printable(said, 512);
  const isNew = state.without === undefined;
  state.without = { until: now() + AGAIN_MS, message };
  if (isNew) {
    log.warn(
      { pool: state.pool.metadata.name, reason: message },
      'a node does not support user namespaces, creating runners without',
    );
    events.record(PROBE_POOLS, state.pool, { type: 'Warning', reason: 'NoUserNamespace', message });
  }
  if (wantsUserNamespace(pools, state)) return;
  for (const runner of runners.inPool(state.pool.metadata.name))
    if (isStuck(runner, now())) endPod(pools, runner.uid, 'never-ready');
}
