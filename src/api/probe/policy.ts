/** The field `policy` of a probe: a name, or a policy as an object. */
import Type from 'typebox';
import { MOST_POLICIES } from '../../limits.ts';
import { canonicalPolicy } from '../../policy/canonical.ts';
import { PolicyError } from '../../policy/error.ts';
import { readPolicy } from '../../policy/read.ts';
import { PolicySchema } from '../../policy/schema.ts';
import type { Policy } from '../../policy/types.ts';
import type { NamedPolicy } from '../../result/verdict.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { tokenOf, type Context } from '../http/context.ts';
import { DESCRIBED_AS } from '../http/input/check.ts';
import { shown } from '../http/input/pairs.ts';
import { MAX_SHARED_NAME, unknownPolicy, useNamed } from '../policies/names.ts';

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

/** Null: the request names no policy. */
export async function askedPolicy(
  { store }: Pick<Deps, 'store'>,
  ctx: Context,
  field: string | object | null,
): Promise<AskedPolicy | null> {
  if (field === null) return null;
  const { rootUserId } = tokenOf(ctx);
  if (typeof field === 'string') {
    const found = await useNamed(store, field, rootUserId);
    if (!found) throw invalid('policy', `"${shown(field)}" ${await unknownPolicy(store, field, rootUserId)}`);
    const { revision, digest, document } = found;
    return { name: field, revision, digest, policy: JSON.parse(document) as Policy };
  }
  if (ctx.method === 'GET') throw invalid('policy', 'must be the name of a policy; send a policy itself with POST');
  const policy = inlinePolicy(field);
  const kept = canonicalPolicy(policy);
  if (!(await store.keepPolicyDocument(rootUserId, kept, MOST_POLICIES))) throw new ApiError('no-room-for-policy');
  return { name: null, revision: null, digest: kept.digest, policy };
}

function inlinePolicy(value: object): Policy {
  try {
    return readPolicy(value);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw invalid(error.path === '' ? 'policy' : `policy.${error.path}`, error.message);
  }
}
