/** The field `policy` of a probe: a name, or a policy as an object. */
import Type from 'typebox';
import { MOST_POLICIES } from '../../../base/limits.ts';
import { PolicySchema } from '../../../media/policy/schema.ts';
import type { Policy } from '../../../media/policy/types.ts';
import type { NamedPolicy } from '../../result/verdict.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { tokenOf, type Context } from '../http/request_context.ts';
import { DESCRIBED_AS, shown } from '../http/input/read_fields.ts';
import { MAX_SHARED_NAME, unknownPolicy, useNamed } from '../policies/policy_names.ts';
import { policyInText } from '../policies/policy_in_text.ts';

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
  deps: Pick<Deps, 'store' | 'work'>,
  ctx: Context,
  field: string | object | null,
): Promise<AskedPolicy | null> {
  if (field === null) return null;
  const { store } = deps;
  const { rootUserId } = tokenOf(ctx);
  if (typeof field === 'string') {
    const found = await useNamed(store, field, rootUserId);
    if (!found) throw invalid('policy', `"${shown(field)}" ${await unknownPolicy(store, field, rootUserId)}`);
    const { revision, digest, document } = found;
    return { name: field, revision, digest, policy: JSON.parse(document) as Policy };
  }
  if (ctx.method === 'GET') throw invalid('policy', 'must be the name of a policy; send a policy itself with POST');
  const { document, digest } = await policyInText(
    deps,
    ctx,
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
