/** Names of policies as callers write them: their account's own, or `shared/NAME`. */
import { MAX_POLICY_NAME, SHARED_PREFIX } from '../../../platform/kube/probe_policy.ts';
import { nearest } from '../../../base/nearest.ts';
import { SHARED, type SavedPolicy } from '../../../platform/store/policies.ts';
import type { Store } from '../../../platform/store/store.ts';
import { invalid } from '../errors.ts';

export const MAX_SHARED_NAME = SHARED_PREFIX.length + MAX_POLICY_NAME;
/** Lower case, so that two names never differ by case alone. */
const OWN = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/;
const RESERVED = 'shared';

/** Where a policy of this name is kept. */
interface PlaceOfPolicy {
  account: number;
  name: string;
}

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

const finder = (how: 'findPolicy' | 'usePolicy') =>
  async function find(
    store: PolicyStore,
    asked: string,
    account: number,
    revision: number | null = null,
  ): Promise<SavedPolicy | null> {
    // No such name was ever saved, and what Postgres does not take need not be sent to it.
    if (asked.length > MAX_SHARED_NAME || !/^[\x21-\x7e]+$/.test(asked)) return null;
    const place = placeOf(asked, account);
    return store[how](place.account, place.name, revision);
  };

/** Null: there is none of this name, or it has no such revision. */
export const findNamed = finder('findPolicy');
/** As findNamed, and what it finds stays readable. */
export const useNamed = finder('usePolicy');

/** What is said of a name that is not there: names of other accounts are no hint. */
export async function unknownPolicy(store: PolicyStore, asked: string, account: number): Promise<string> {
  const names = (await store.latestPolicies([account, SHARED])).map(shownName);
  const near = nearest(asked, names);
  return `does not exist${near === undefined ? '' : `; did you mean ${near}?`}`;
}
