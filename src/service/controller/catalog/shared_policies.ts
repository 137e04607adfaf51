/**
 * Copies ProbePolicy objects to the record: the leader stores each valid change, so every API replica reads shared
 * policies like all others, and their revisions never change. An invalid object is reported in its status, and its
 * previous revision stays in force.
 */
import { isKubeError, PROBE_POLICIES, type KubeClient } from '../../../platform/kube/client.ts';
import { setConditions, stamp, type Change } from '../../../platform/kube/conditions.ts';
import { printable } from '../../../base/printable.ts';
import { MAX_POLICY_NAME, type ProbePolicy, type ProbePolicyStatus } from '../../../platform/kube/probe_policy.ts';
import { WorkQueue } from '../../../platform/kube/queue.ts';
import { startReflector } from '../../../platform/kube/reflector.ts';
import type { Logger } from '../../../base/log.ts';
import { MOST_SHARED } from '../../../base/limits.ts';
import { canonicalPolicy } from '../../../media/policy/canonical.ts';
import { PolicyError } from '../../../media/policy/error.ts';
import { readPolicy } from '../../../media/policy/read.ts';
import type { Policy } from '../../../media/policy/schema.ts';
import { SHARED } from '../../../platform/store/policies.ts';
import type { Store } from '../../../platform/store/store.ts';

export interface SharedPoliciesDeps {
  kube: KubeClient;
  store: Pick<Store, 'putPolicy' | 'deletePolicy' | 'latestPolicies' | 'clock'>;
  log: Logger;
  namespace: string;
  stillLeading: () => boolean;
}

/** The verdict on a policy for its status. `saved` undefined: the status keeps its current revision. */
interface Verdict {
  valid: Change;
  saved?: Pick<ProbePolicyStatus, 'revision' | 'digest' | 'rules'>;
}

const validity = (status: 'True' | 'False', reason: string, message: string): Change => ({
  type: 'Valid',
  status,
  reason,
  message: printable(message, 1_024),
});

async function verdictOn({ store }: SharedPoliciesDeps, object: ProbePolicy): Promise<Verdict> {
  const { name } = object.metadata;
  if (name.length > MAX_POLICY_NAME)
    return { valid: validity('False', 'Invalid', `metadata.name: must be at most ${MAX_POLICY_NAME} characters long`) };
  let policy: Policy;
  try {
    policy = readPolicy(object.spec);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const where = error.path === '' ? 'spec' : `spec.${error.path}`;
    return { valid: validity('False', 'Invalid', `${where}: ${error.message}; the revision before stays in force`) };
  }
  const kept = canonicalPolicy(policy);
  const { description } = policy;
  const put = await store.putPolicy({ account: SHARED, name, description, userId: null }, kept, MOST_SHARED);
  if (put.outcome === 'too-many')
    return { valid: validity('False', 'TooMany', `there are more than ${MOST_SHARED.policies} shared policies`) };
  if (put.outcome === 'no-room')
    return { valid: validity('False', 'TooMany', 'the revisions of shared policies take more room than they may') };
  return {
    valid: validity('True', 'Valid', `requests get revision ${put.revision}`),
    saved: { revision: put.revision, digest: kept.digest, rules: policy.rules.length },
  };
}

async function reconcile(deps: SharedPoliciesDeps, object: ProbePolicy): Promise<void> {
  const { kube, namespace, store } = deps;
  const { name, generation = 0 } = object.metadata;
  const { valid, saved = {} } = await verdictOn(deps, object);
  const { status } = object;
  const wanted: ProbePolicyStatus = {
    conditions: setConditions(status, [{ ...valid, observedGeneration: generation }], stamp(store.clock.now())),
    observedGeneration: generation,
    ...saved,
  };
  const same = (Object.keys(wanted) as (keyof ProbePolicyStatus)[]).every(
    (member) => JSON.stringify(wanted[member]) === JSON.stringify(status?.[member]),
  );
  if (same) return;
  try {
    await kube.mergePatchStatus(PROBE_POLICIES, name, wanted, { namespace });
  } catch (error) {
    // The object was deleted: the watch reports that too.
    if (!isKubeError(error, 'not-found')) throw error;
  }
}

export function watchSharedPolicies(deps: SharedPoliciesDeps): { stop(): Promise<void> } {
  const { kube, store, log, namespace, stillLeading } = deps;
  const queue = new WorkQueue();
  const seen = ({ metadata }: ProbePolicy): void => queue.add(metadata.name);
  const objects = startReflector<ProbePolicy>({
    client: kube,
    type: PROBE_POLICIES,
    namespace,
    handlers: { add: seen, update: seen, delete: seen },
    hooks: { failed: (error) => log.debug({ err: error }, 'watch of ProbePolicies failed, listing again') },
  });

  /** Removes policies that were deleted while there was no leader. */
  const forgetGone = async (): Promise<void> => {
    await objects.synced;
    for (const { name } of await store.latestPolicies([SHARED]))
      if (!objects.get(`${namespace}/${name}`)) queue.add(name);
  };

  // One at a time: there are few, and each locks the shared policies.
  queue.run(
    1,
    async (name) => {
      if (!stillLeading()) return;
      if (name === '') return forgetGone();
      const object = objects.get(`${namespace}/${name}`);
      if (object) await reconcile(deps, object);
      else if (await store.deletePolicy(SHARED, name)) log.info({ policy: name }, 'shared policy deleted');
    },
    (error, policy) => log.warn({ err: error, policy }, 'cannot copy a shared policy, will retry'),
  );
  queue.add('');

  return {
    async stop() {
      await Promise.all([objects.stop(), queue.stop()]);
    },
  };
}
