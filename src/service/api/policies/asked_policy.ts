/**
 * Policies as callers ask for them: by a name, of their account's own or `shared/NAME`, or as a text or an object that
 * comes with the call.
 */
import Type from 'typebox';
import { MOST_POLICIES } from '../../../base/limits.ts';
import { nearest } from '../../../base/nearest.ts';
import { PolicySchema, type Policy } from '../../../media/policy/schema.ts';
import { MAX_POLICY_NAME, SHARED_PREFIX } from '../../../platform/kube/probe_policy.ts';
import { SHARED, type SavedPolicy } from '../../../platform/store/policies.ts';
import type { Store } from '../../../platform/store/store.ts';
import type { NamedPolicy } from '../../result/verdict.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { DESCRIBED_AS, shown } from '../http/input/read_fields.ts';
import { tokenOf, type Asker } from '../http/request_context.ts';
import type { ReadPolicy } from '../work/jobs.ts';

export const MAX_SHARED_NAME = SHARED_PREFIX.length + MAX_POLICY_NAME;
/** Lower case, so that two names never differ by case alone. */
const OWN = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/;
const RESERVED = 'shared';

/** Where a policy of this name is kept. */
type PlaceOfPolicy = Pick<SavedPolicy, 'account' | 'name'>;

const placeOf = (asked: string, account: number): PlaceOfPolicy =>
  asked.startsWith(SHARED_PREFIX)
    ? { account: SHARED, name: asked.slice(SHARED_PREFIX.length) }
    : { account, name: asked };

export const shownName = ({ account, name }: PlaceOfPolicy): string =>
  account === SHARED ? `${SHARED_PREFIX}${name}` : name;

export function checkedOwnName(name: string): string {
  if (name === RESERVED) throw invalid('name', `"${RESERVED}" is reserved; shared policies are named shared/NAME`);
  if (OWN.test(name)) return name;
  throw invalid(
    'name',
    `must be 1 to ${MAX_POLICY_NAME} lower-case letters, digits, ".", "_" and "-", ` +
      'with a letter or digit first and last',
  );
}

type PolicyStore = Pick<Store, 'findPolicy' | 'usePolicy' | 'latestPolicies'>;

/** Null: there is none of this name, or it has no such revision. `usePolicy`: what it finds stays readable. */
export async function findNamed(
  store: PolicyStore,
  asked: string,
  account: number,
  revision: number | null = null,
  how: 'findPolicy' | 'usePolicy' = 'findPolicy',
): Promise<SavedPolicy | null> {
  // No such name was ever saved, and what Postgres does not take need not be sent to it.
  if (asked.length > MAX_SHARED_NAME || !/^[\x21-\x7e]+$/.test(asked)) return null;
  const place = placeOf(asked, account);
  return store[how](place.account, place.name, revision);
}

/** What is said of a name that is not there: names of other accounts are no hint. */
export async function unknownPolicy(store: PolicyStore, asked: string, account: number): Promise<string> {
  const names = (await store.latestPolicies([account, SHARED])).map(shownName);
  const near = nearest(asked, names);
  return `does not exist${near === undefined ? '' : `; did you mean ${near}?`}`;
}

type PolicyInText = Exclude<ReadPolicy, { refused: unknown }>;

/** What is wrong with the text is a 400 that names the place. `at`: before the places in an error, as `policy.`. */
export async function policyInText(
  { work }: Pick<Deps, 'work'>,
  by: Asker,
  sent: { text: string; mediaType: string },
  at = '',
): Promise<PolicyInText> {
  const read = await work.run('readPolicy', sent, { account: tokenOf(by).rootUserId, what: 'policy' });
  if (!('refused' in read)) return read;
  const { path, message } = read.refused;
  throw invalid(path === '' ? 'policy' : `${at}${path}`, message);
}

// The field `policy` of a probe: a name, or a policy as an object.

const NAME = { type: 'string', minLength: 1, maxLength: MAX_SHARED_NAME };
const DESCRIPTION = 'The policy to judge the result by: its name (`house-x`, `shared/web-mp4`)';

/** For a query; the schema that validates it is PolicyField. */
export const PolicyNameField = Type.Unsafe<string | null>({
  ...NAME,
  type: ['string', 'null'],
  default: null,
  description: `${DESCRIPTION}.`,
});

export const PolicyField = Type.Unsafe<string | object | null>({
  ...NAME,
  type: ['string', 'object', 'null'],
  default: null,
  description: `${DESCRIPTION}, or a policy with its \`rules\`.`,
  [DESCRIBED_AS]: { anyOf: [NAME, PolicySchema, { type: 'null' }] },
});

/** The policy to evaluate, stored under its digest. */
export interface AskedPolicy extends NamedPolicy {
  digest: string;
  policy: Policy;
}

/** Null: the request names no policy. `asked`: the revision of a named one; null for the latest. */
export async function askedPolicy(
  deps: Pick<Deps, 'store' | 'work'>,
  by: Asker,
  field: string | object | null,
  asked: number | null = null,
): Promise<AskedPolicy | null> {
  if (field === null) return null;
  const { store } = deps;
  const { rootUserId } = tokenOf(by);
  if (typeof field === 'string') {
    const found = await findNamed(store, field, rootUserId, asked, 'usePolicy');
    if (!found) throw invalid('policy', `"${shown(field)}" ${await unknownPolicy(store, field, rootUserId)}`);
    const { revision, digest, document } = found;
    return { name: field, revision, digest, policy: JSON.parse(document) as Policy };
  }
  if (by.method === 'GET') throw invalid('policy', 'must be the name of a policy; send a policy itself with POST');
  const { document, digest } = await policyInText(
    deps,
    by,
    { text: textOf(field), mediaType: 'application/json' },
    'policy.',
  );
  if (!(await store.keepPolicyDocument(rootUserId, { document, digest }, MOST_POLICIES)))
    throw new ApiError('no-room-for-policy');
  return { name: null, revision: null, digest, policy: JSON.parse(document) as Policy };
}

/** A value may be nested deeper than it can be written. */
function textOf(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    throw invalid('policy', 'is nested too deeply');
  }
}
