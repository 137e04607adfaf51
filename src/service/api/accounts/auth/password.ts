/**
 * `PUT auth/current/password` and `PUT auth/{id}/password`: both require the caller's own password, so an unattended
 * session is not enough.
 */
import Type from 'typebox';
import { mayChange } from '../../../accounts/authority.ts';
import { seesEveryone, type Caller } from '../../../accounts/caller.ts';
import { callerOf, type Context, idOf, remoteIp } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, invalid, notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { GivenPassword, Id, Password } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';

const Body = Type.Object(
  {
    'old-password': GivenPassword,
    'new-password': Password,
    'logout-all': Type.Boolean({
      default: false,
      description: 'End all sessions of the user and their JWTs. Send true if a session may be compromised.',
    }),
  },
  { additionalProperties: false },
);

async function change({ accounts, store }: Deps, ctx: Context, caller: Caller, userId: number): Promise<void> {
  const { 'old-password': old, 'new-password': wanted, 'logout-all': logoutAll } = checkedBy(Body, ctx);
  const { attempts, passwords, settings } = accounts;
  await attempts.take('password:address', { address: remoteIp(ctx, settings.trustedHops) });
  await attempts.take('password:caller', { account: caller.userId });
  if (!(await passwords.verify(old, await store.passwordHash(caller.userId))))
    throw invalid('old-password', caller.userId === userId ? 'is wrong' : 'is wrong; your own password is required');
  await attempts.forget('password:caller', { account: caller.userId });
  await store.setPassword(userId, await passwords.hash(wanted));
  if (logoutAll) await store.endSessions(userId);
  ctx.status = 204;
}

async function changeAnothers(deps: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const target = await deps.store.findUser(idOf(ctx), seesEveryone(caller) ? null : caller.userId);
  if (!target) throw notFound();
  if (!mayChange(caller, target)) throw new ApiError('not-yours');
  await change(deps, ctx, caller, target.id);
}

export const ownPassword = endpoint(
  'PUT auth/current/password',
  {
    id: 'changeOwnPassword',
    tag: 'auth',
    summary: 'Change your password',
    body: Body,
    answer: { description: 'The password is changed.' },
  },
  (deps, ctx) => change(deps, ctx, callerOf(ctx), callerOf(ctx).userId),
);

export const anothersPassword = endpoint(
  'PUT auth/:id/password',
  {
    id: 'changePassword',
    tag: 'auth',
    summary: "Set a user's password",
    params: { id: Id },
    body: Body,
    description:
      'Of a sub-user; administrators can set the password of anyone but other administrators. `old-password` is ' +
      "the caller's own.",
    answer: { description: 'The password is set.' },
  },
  changeAnothers,
);
