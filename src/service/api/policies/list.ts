/** `GET /v1/policy`: the policies of the caller's account, and the shared ones. */
import Type from 'typebox';
import { SHARED } from '../../../platform/store/policies.ts';
import type { Deps } from '../deps.ts';
import { tokenOf, type Context } from '../http/context.ts';
import { endpoint } from '../http/endpoint.ts';
import { PolicyRow, shownRow } from './shown_policy.ts';

async function list({ store }: Deps, ctx: Context): Promise<void> {
  const { rootUserId } = tokenOf(ctx);
  const policies = await store.latestPolicies([rootUserId, SHARED]);
  const own = policies.filter(({ account }) => account !== SHARED);
  const shared = policies.filter(({ account }) => account === SHARED);
  ctx.body = { policies: [...own, ...shared].map(shownRow) };
}

export const listPolicies = endpoint(
  'GET /v1/policy',
  {
    id: 'listPolicies',
    tag: 'policy',
    summary: 'List policies',
    description:
      "The latest revision of each policy of the caller's account, then of each shared policy of the installation.",
    answer: { description: 'The policies.', schema: Type.Object({ policies: Type.Array(PolicyRow) }) },
  },
  list,
);
