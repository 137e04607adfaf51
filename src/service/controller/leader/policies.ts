/** The policy that a job names, with its document from the record. */
import type { Assignment } from '../../../platform/bus/messages.ts';
import type { PolicyStatus, ProbeJob } from '../../../platform/kube/probe_job.ts';
import { SHARED_PREFIX } from '../../../platform/kube/probe_policy.ts';
import { nearest } from '../../../base/nearest.ts';
import type { Policy } from '../../../media/policy/schema.ts';
import { SHARED } from '../../../platform/store/policies.ts';
import type { Store } from '../../../platform/store/store.ts';
import { invalid, isHandMade, type JobPolicy } from './job.ts';

type PolicyStore = Pick<Store, 'policyDocument' | 'usePolicy' | 'latestPolicies'>;

/** Cache size, in bytes of canonical JSON. Most installations use a handful of policies. */
const MOST_BYTES = 8 * 1024 * 1024;

export type PolicyDocuments = ReturnType<typeof policyDocuments>;

/** A cache without invalidation, because documents are immutable. */
export function policyDocuments(store: Pick<PolicyStore, 'policyDocument'>, mostBytes = MOST_BYTES) {
  const kept = new Map<string, { policy: Policy; bytes: number }>();
  let all = 0;

  function keep(key: string, one: { policy: Policy; bytes: number }): void {
    all += one.bytes - (kept.get(key)?.bytes ?? 0);
    kept.set(key, one);
    for (const [oldest, { bytes }] of kept) {
      if (all <= mostBytes) return;
      kept.delete(oldest);
      all -= bytes;
    }
  }

  return {
    bytes: (): number => all,
    /** Undefined: the document is not in the record. */
    async of({ account, digest }: Pick<JobPolicy, 'account' | 'digest'>): Promise<Policy | undefined> {
      const key = `${account}/${digest}`;
      const known = kept.get(key);
      if (known) {
        kept.delete(key);
        kept.set(key, known);
        return known.policy;
      }
      const document = await store.policyDocument(account, digest);
      if (document === null) return undefined;
      const policy = JSON.parse(document) as Policy;
      keep(key, { policy, bytes: Buffer.byteLength(document) });
      return policy;
    },
  };
}

async function sharedPolicy(store: PolicyStore, asked: string, revision: number | undefined): Promise<JobPolicy> {
  if (!asked.startsWith(SHARED_PREFIX))
    throw invalid(
      `spec.policy.name: "${asked}" is not a shared policy; jobs made by hand name one as ${SHARED_PREFIX}NAME`,
    );
  const found = await store.usePolicy(SHARED, asked.slice(SHARED_PREFIX.length), revision ?? null);
  if (found) return { account: SHARED, name: asked, revision: found.revision, digest: found.digest };
  const names = (await store.latestPolicies([SHARED])).map(({ name }) => `${SHARED_PREFIX}${name}`);
  if (revision !== undefined && names.includes(asked))
    throw invalid(`spec.policy.revision: ${asked} has no revision ${revision}`);
  const near = nearest(asked, names);
  throw invalid(`spec.policy.name: "${asked}" does not exist${near === undefined ? '' : `; did you mean ${near}?`}`);
}

/** Undefined: the job names no policy. Throws a Refusal if the named policy cannot be applied. */
export async function policyOf(
  store: PolicyStore,
  documents: PolicyDocuments,
  job: ProbeJob,
  account: number,
): Promise<JobPolicy | undefined> {
  const { policy } = job.spec;
  if (!policy) return undefined;
  const { name = null, revision = null, digest } = policy;
  if (isHandMade(job)) return sharedPolicy(store, name ?? '', policy.revision);
  const found: JobPolicy = {
    account: name?.startsWith(SHARED_PREFIX) === true ? SHARED : account,
    name,
    revision,
    digest: digest ?? '',
  };
  if (!digest || !(await documents.of(found))) throw invalid('spec.policy.digest: policy not found');
  return found;
}

/** `unknown`: the job ended without a result. */
export const policyStatus = (
  name: string | null,
  revision: number | null,
  outcome: PolicyStatus['outcome'],
): PolicyStatus => ({ ...(name === null ? {} : { name }), ...(revision === null ? {} : { revision }), outcome });

/** The policy in the form that the runner gets. */
export async function assignedPolicy(
  documents: PolicyDocuments,
  policy: JobPolicy,
): Promise<NonNullable<Assignment['policy']>> {
  const document = await documents.of(policy);
  if (!document) throw new Error('the policy document no longer exists');
  return { name: policy.name, revision: policy.revision, document };
}
