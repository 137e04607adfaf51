/** `PUT user/current` and `PUT user/{id}`: names; for other users also permissions and, by the root user, the role. */
import Type, { type Static } from 'typebox';
import { notToGive } from '../../../accounts/authority.ts';
import { PERMISSIONS } from '../../../../platform/store/permissions.ts';
import { USER_PERMISSIONS, type Caller } from '../../../accounts/caller.ts';
import type { UserChange, UserRecord } from '../../../../platform/store/users.ts';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, inside, notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Id, Permissions, PersonName } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';
import { ShownUser, shownUser } from '../shown_user.ts';
import { findOwn } from './find.ts';

const Names = { 'first-name': Type.Optional(PersonName), 'last-name': Type.Optional(PersonName) };
const OwnBody = Type.Object(Names, { additionalProperties: false });
const Body = Type.Object(
  {
    ...Names,
    permissions: Type.Optional(Permissions),
    restrictions: Type.Optional(Permissions),
    role: Type.Optional(
      Type.Unsafe<'admin' | 'user'>({
        type: 'string',
        enum: ['admin', 'user'],
        description: 'Set by the root user only, and not for sub-users. Sets the permissions of the role.',
      }),
    ),
  },
  { additionalProperties: false },
);

function changeOf(caller: Caller, target: UserRecord, asked: Static<typeof Body>): UserChange {
  const { permissions, restrictions, role } = asked;
  const names = { firstName: asked['first-name'], lastName: asked['last-name'] };
  if (permissions === undefined && restrictions === undefined && role === undefined) return names;
  if (target.id === caller.userId) throw new ApiError('own-account');
  if (role !== undefined) {
    if (caller.role !== 'root' || target.role === 'sub' || !caller.permissions.includes('write:admin'))
      throw new ApiError('beyond-caller', { text: 'role: only the root user can set it, and not for a sub-user' });
    return {
      ...names,
      role,
      permissions: [...(role === 'admin' ? PERMISSIONS : USER_PERMISSIONS)],
      restrictions: restrictions ?? [],
    };
  }
  const beyond = permissions && notToGive(caller, permissions);
  if (beyond !== undefined) throw new ApiError('beyond-caller', { text: `permissions: you cannot grant ${beyond}` });
  return { ...names, permissions, restrictions };
}

async function changeSelf({ store }: Deps, ctx: Context): Promise<void> {
  const asked = checkedBy(OwnBody, ctx);
  const user = await store.changeUser(callerOf(ctx).userId, {
    firstName: asked['first-name'],
    lastName: asked['last-name'],
  });
  if (!user) throw inside('the calling user no longer exists');
  ctx.body = shownUser(user);
}

async function changeOne(deps: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const target = await findOwn(deps, ctx, caller);
  const user = await deps.store.changeUser(target.id, changeOf(caller, target, checkedBy(Body, ctx)));
  if (!user) throw notFound();
  ctx.body = shownUser(user);
}

export const changeCurrent = endpoint(
  'PUT user/current',
  {
    id: 'changeCurrentUser',
    tag: 'users',
    summary: 'Change your names',
    body: OwnBody,
    answer: { description: 'The changed user.', schema: ShownUser },
  },
  changeSelf,
);
export const changeUser = endpoint(
  'PUT user/:id',
  {
    id: 'changeUser',
    tag: 'users',
    summary: 'Change a user',
    params: { id: Id },
    body: Body,
    description: 'Omitted fields keep their value. Callers can grant only permissions that they have.',
    answer: { description: 'The changed user.', schema: ShownUser },
  },
  changeOne,
);
