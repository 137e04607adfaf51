/** `GET` and `PUT user/{id}/limits`: limits that an administrator sets. The user's tokens may narrow them. */
import Type, { type Static } from 'typebox';
import type { UserLimits } from '../../../../platform/store/users.ts';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { invalid, notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Id } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';
import { AskedUserLimits, changedUserLimits, ShownUserLimits, shownUserLimits } from '../limits.ts';
import { findLimited, findSeen } from './find.ts';

const Body = Type.Object(AskedUserLimits, { additionalProperties: false });

async function shown({ store }: Deps, id: number, limits: UserLimits | null): Promise<Static<typeof ShownUserLimits>> {
  const inForce = await store.userLimitsInForce(id);
  if (!limits || !inForce) throw notFound();
  return shownUserLimits(limits, inForce);
}

async function readLimits(deps: Deps, ctx: Context): Promise<void> {
  const { id } = await findSeen(deps, ctx, callerOf(ctx));
  ctx.body = await shown(deps, id, await deps.store.userLimits(id));
}

async function setLimits(deps: Deps, ctx: Context): Promise<void> {
  const { id, rootId } = await findLimited(deps, ctx, callerOf(ctx));
  const asked = checkedBy(Body, ctx);
  if (id !== rootId && typeof asked['account-concurrency'] === 'number')
    throw invalid('account-concurrency', `can only be set on the root user of the account, user ${rootId}`);
  const before = await deps.store.userLimits(id);
  if (!before) throw notFound();
  const limits = changedUserLimits(asked, before);
  await deps.store.setUserLimits(id, limits);
  ctx.body = await shown(deps, id, limits);
}

export const userLimits = endpoint(
  'GET user/:id/limits',
  {
    id: 'readUserLimits',
    tag: 'users',
    summary: "A user's limits",
    params: { id: Id },
    answer: {
      description:
        "As set; null: inherited from the accounts above, or the installation's default. " +
        '`in-force` has the effective limits.',
      schema: ShownUserLimits,
    },
  },
  readLimits,
);
export const setUserLimits = endpoint(
  'PUT user/:id/limits',
  {
    id: 'setUserLimits',
    tag: 'users',
    summary: "Set a user's limits",
    params: { id: Id },
    body: Body,
    description: 'Omitted fields keep their value; null removes a limit.',
    answer: { description: 'The changed limits.', schema: ShownUserLimits },
  },
  setLimits,
);
