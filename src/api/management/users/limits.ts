/** `GET` and `PUT user/{id}/limits`: what an administrator gives a user; his tokens inherit and may narrow it. */
import Type from 'typebox';
import { callerOf, type Handler } from '../../context.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { endpoint } from '../endpoint.ts';
import { Id } from '../fields.ts';
import { checkedBy } from '../input.ts';
import { AskedLimits, changedLimits, ShownLimits, shownLimits } from '../limits.ts';
import { findLimited, findSeen } from './find.ts';

const Body = Type.Object(AskedLimits, { additionalProperties: false });

const readLimits = (deps: Deps): Handler =>
  async (ctx) => {
    const limits = await deps.store.userLimits((await findSeen(deps, ctx, callerOf(ctx))).id);
    if (!limits) throw notFound();
    ctx.body = shownLimits(limits);
  };

const setLimits = (deps: Deps): Handler =>
  async (ctx) => {
    const { id } = await findLimited(deps, ctx, callerOf(ctx));
    const before = await deps.store.userLimits(id);
    if (!before) throw notFound();
    const limits = changedLimits(checkedBy(Body, ctx), before);
    await deps.store.setUserLimits(id, limits);
    ctx.body = shownLimits(limits);
  };

export const userLimits = endpoint('GET user/:id/limits', { id: 'readUserLimits', tag: 'users', summary: 'A user\'s limits', params: { id: Id }, answer: { description: 'Null: the installation\'s default, or what his root user has.', schema: ShownLimits } }, (deps) => [readLimits(deps)]);
export const setUserLimits = endpoint('PUT user/:id/limits', {
  id: 'setUserLimits', tag: 'users', summary: 'Set a user\'s limits', params: { id: Id }, body: Body, description: 'What is left out stays as it is; null takes it away.', answer: { description: 'The limits as they are now.', schema: ShownLimits },
}, (deps) => [setLimits(deps)]);
