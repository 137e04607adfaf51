/** Users: list, read, create, change, suspend, limit and delete; passwords. */
import Type, { type Static } from 'typebox';
import { mayChange, notToGive, subUserDefaults } from '../../accounts/authority.ts';
import { type Caller, seenBy, STATUSES, USER_PERMISSIONS } from '../../accounts/caller.ts';
import {
  USER_SORTS,
  type UserChange,
  type UserLimits,
  type UserRecord,
  type UserSort,
} from '../../../platform/store/users.ts';
import { callerOf, type Context, idOf, remoteIp } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside, invalid, notFound, orNotFound } from '../errors.ts';
import { changesOf, note, secrets, withEntry } from '../http/audit.ts';
import { type Described, endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import {
  anyOf,
  closed,
  containing,
  flag,
  ids,
  listAnswer,
  listSchema,
  pageOf,
  oneOf,
  Pagination,
  sortBy,
} from '../http/request_fields.ts';
import {
  auditedUser,
  Email,
  GivenPassword,
  Id,
  listedUser,
  Names,
  Password,
  Permissions,
  ShownListedUser,
  ShownUser,
  shownUser,
} from './account_fields.ts';
import { inviteMail } from '../../accounts/mail_texts.ts';
import { makeApiToken } from '../../accounts/make_token.ts';
import { checkPasswords } from './session_endpoints.ts';
import { newCode } from './sign_up_endpoints.ts';
import {
  accountFull,
  AskedUserLimits,
  changedUserLimits,
  shownLimits,
  ShownUserLimits,
  shownUserLimits,
} from './account_limits.ts';
import { PERMISSIONS } from '../../../platform/store/permissions.ts';

const known = (user: UserRecord | null): UserRecord => {
  if (!user) throw inside('the calling user no longer exists');
  return user;
};

async function findSeen({ store }: Pick<Deps, 'store'>, ctx: Context): Promise<UserRecord> {
  return orNotFound(await store.findUser(idOf(ctx), seenBy(callerOf(ctx))));
}

async function findOwn(deps: Pick<Deps, 'store'>, ctx: Context): Promise<UserRecord> {
  const user = await findSeen(deps, ctx);
  if (!mayChange(callerOf(ctx), user)) throw new ApiError('not-yours');
  return user;
}

/**
 * Callers may set limits of users that they may change, but not their own. Only the root user, who has no account
 * above, may.
 */
async function findLimited(deps: Pick<Deps, 'store'>, ctx: Context): Promise<UserRecord> {
  const caller = callerOf(ctx);
  const user = await findOwn(deps, ctx);
  if (user.id === caller.userId && caller.role !== 'root')
    throw new ApiError('own-account', { text: 'you cannot set your own limits' });
  return user;
}

const FIELDS = Object.keys(USER_SORTS) as UserSort[];

export const listUsers = endpoint('GET user', {
  id: 'listUsers',
  summary: 'List sub-users',
  query: closed({
    status: anyOf(STATUSES, 'Users with one of these statuses.'),
    email: containing(320, 'Part of the e-mail address; case-insensitive.'),
    id: ids('Users with these ids. Default: all that the caller can see.'),
    pagination: Pagination,
    sort: sortBy(FIELDS, 'id', 'asc'),
  }),
  description: 'Administrators get all users.',
  answer: { description: 'A page of users.', schema: listSchema('users', ShownListedUser) },
  async work({ store }, ctx, { status, email, id, pagination, sort }) {
    const { rows, total } = await store.listUsers({
      under: seenBy(callerOf(ctx)),
      status,
      email,
      ids: id,
      sort,
      ...pageOf(pagination),
    });
    const asked = { filter: { status, email, id }, pagination, sort };
    return listAnswer('users', rows.map(listedUser), asked, { total });
  },
});

export const readCurrent = endpoint('GET user/current', {
  id: 'readCurrentUser',
  summary: 'Read your user',
  answer: { description: 'The caller.', schema: ShownUser },
  work: async ({ store }, ctx) => shownUser(known(await store.findUser(callerOf(ctx).userId))),
});
export const readUser = endpoint('GET user/:id', {
  id: 'readUser',
  summary: 'Read a user',
  params: { id: Id },
  answer: { description: 'The user: yourself, a sub-user or, for an administrator, anyone.', schema: ShownUser },
  work: async (deps, ctx) => shownUser(await findSeen(deps, ctx)),
});

const MakeBody = closed({
  email: Email,
  ...Names,
  permissions: Type.Optional(Permissions),
  restrictions: Type.Optional(Permissions),
});
const MakeAnswer = closed({ user: ShownUser });
const CODE_MS = 7 * 86_400_000;

function checkGrant(caller: Caller, permissions: readonly string[]): void {
  const beyond = notToGive(caller, permissions);
  if (beyond !== undefined) throw new ApiError('beyond-caller', { text: `permissions: you cannot grant ${beyond}` });
}

/** To lift a restriction is to grant. */
function checkLifted(caller: Caller, target: UserRecord, restrictions: readonly string[]): void {
  const lifted = target.restrictions.filter((name) => !restrictions.includes(name));
  const beyond = lifted.find((name) => !caller.permissions.includes(name));
  if (beyond !== undefined)
    throw new ApiError('beyond-caller', {
      text: `restrictions: you cannot lift that of ${beyond}, which the calling credential lacks`,
    });
}

/** A mail with a code for a new user, to set a password with. Null: there are no mails, or no passwords. */
async function invitation({ accounts, store }: Deps, caller: Caller) {
  if (accounts.settings.mail === null || !accounts.settings.passwords) return null;
  const by = known(await store.findUser(caller.userId));
  const { codeId, code } = await newCode(accounts, 'reset', store.clock.now() + CODE_MS);
  return { codeId, mail: await accounts.sealMail(inviteMail(accounts.settings.publicUrl, code, by.email)) };
}

const change = (deps: Deps, ctx: Context, before: UserRecord, changed: UserChange): Promise<UserRecord> =>
  withEntry(deps, ctx, async (store) => {
    const user = orNotFound(await store.changeUser(before.id, changed));
    note(ctx, { subject: `user/${user.id}`, changes: changesOf(auditedUser(before), auditedUser(user)) });
    return user;
  });

async function makeUnder(deps: Deps, ctx: Context, parentId: number) {
  const { accounts } = deps;
  const caller = callerOf(ctx);
  const {
    email,
    'first-name': firstName = '',
    'last-name': lastName = '',
    permissions = subUserDefaults(caller),
    restrictions = [],
  } = checkedBy(MakeBody, ctx);
  checkGrant(caller, permissions);
  // This reveals whether an address has an account, so it is limited.
  await accounts.attempts.take('invite:account', { account: caller.rootUserId });
  const { mostSubUsers, mostTokens } = accounts.settings;
  const invited = await invitation(deps, caller);
  const user = await withEntry(deps, ctx, async (store) => {
    const made = await store.makeSubUser(
      { email, firstName, lastName, status: invited ? 'pending' : 'active', parentId, permissions, restrictions },
      { subUsers: mostSubUsers, tokens: mostTokens },
    );
    if (made === 'sub-users' || made === 'tokens') throw accountFull(made, accounts.settings);
    if (made === 'email-taken') throw new ApiError('email-taken', { field: 'email' });
    await makeApiToken({ ...accounts, store }, { userId: made.id, name: 'default' });
    if (invited) {
      await store.addResetCode(made.id, invited.codeId, CODE_MS);
      await store.addMail({ ...invited.mail, userId: made.id, recipient: made.email });
    }
    note(ctx, { subject: `user/${made.id}`, changes: changesOf(null, { ...auditedUser(made), parent: parentId }) });
    return made;
  });
  if (invited) accounts.mailsWait();
  return { user: shownUser(user) };
}

const MAKING = {
  body: MakeBody,
  description:
    'The new user is `pending` until they choose a password through the mail that they get. Without mail they are ' +
    '`active` at once; set their password with `PUT auth/{id}/password`. ' +
    '409 if the address cannot be used, or the account has reached `accounts.maxSubUsers` or `accounts.maxTokens`.',
  also: [409],
  answer: { status: 201, description: 'The sub-user.', schema: MakeAnswer },
} as const satisfies Partial<Described>;
export const makeSubUser = endpoint('POST user/current', {
  ...MAKING,
  id: 'makeSubUser',
  summary: 'Create a sub-user',
  work: (deps, ctx) => makeUnder(deps, ctx, callerOf(ctx).userId),
});
export const makeSubUserOf = endpoint('POST user/:id', {
  ...MAKING,
  id: 'makeSubUserOf',
  summary: 'Create a sub-user of a user',
  params: { id: Id },
  work: async (deps, ctx) => makeUnder(deps, ctx, (await findOwn(deps, ctx)).id),
});

const ChangeBody = closed({
  ...Names,
  permissions: Type.Optional(Permissions),
  restrictions: Type.Optional(Permissions),
  role: Type.Optional(
    oneOf(['admin', 'user'], {
      description: 'Set by the root user only, and not for sub-users. Sets the permissions of the role.',
    }),
  ),
});

function changeOf(caller: Caller, target: UserRecord, asked: Static<typeof ChangeBody>): UserChange {
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
  checkGrant(caller, permissions ?? []);
  if (restrictions) checkLifted(caller, target, restrictions);
  return { ...names, permissions, restrictions };
}

export const changeCurrent = endpoint('PUT user/current', {
  id: 'changeCurrentUser',
  summary: 'Change your names',
  body: closed(Names),
  answer: { description: 'The changed user.', schema: ShownUser },
  async work(deps, ctx, { 'first-name': firstName, 'last-name': lastName }) {
    const own = known(await deps.store.findUser(callerOf(ctx).userId));
    return shownUser(await change(deps, ctx, own, { firstName, lastName }));
  },
});
export const changeUser = endpoint('PUT user/:id', {
  id: 'changeUser',
  summary: 'Change a user',
  params: { id: Id },
  body: ChangeBody,
  description: 'Omitted fields keep their value. Callers can grant only permissions that they have.',
  answer: { description: 'The changed user.', schema: ShownUser },
  async work(deps, ctx, asked) {
    const target = await findOwn(deps, ctx);
    const changed = changeOf(callerOf(ctx), target, asked);
    return shownUser(await change(deps, ctx, target, changed));
  },
});

// A change requires the caller's own password, so an unattended session is not enough.

const PasswordBody = closed({
  'old-password': GivenPassword,
  'new-password': Password,
  'logout-all': flag(false, 'End all sessions of the user and their JWTs. Send true if a session may be compromised.'),
});

async function changePassword(deps: Deps, ctx: Context, userId: number): Promise<void> {
  const caller = callerOf(ctx);
  const { 'old-password': old, 'new-password': wanted, 'logout-all': logoutAll } = checkedBy(PasswordBody, ctx);
  const { attempts, passwords, settings } = deps.accounts;
  checkPasswords(settings);
  await attempts.take('password:address', { address: remoteIp(ctx, settings.trustedHops) });
  await attempts.take('password:caller', { account: caller.userId });
  if (!(await passwords.verify(old, await deps.store.passwordHash(caller.userId))))
    throw invalid('old-password', caller.userId === userId ? 'is wrong' : 'is wrong; your own password is required');
  await attempts.forget('password:caller', { account: caller.userId });
  const hash = await passwords.hash(wanted);
  await withEntry(deps, ctx, async (store) => {
    await store.setPassword(userId, hash);
    if (logoutAll) await store.endSessions(userId);
    note(ctx, {
      subject: `user/${userId}`,
      changes: secrets('changed', 'password', ...(logoutAll ? ['sessions'] : [])),
    });
  });
}

export const ownPassword = endpoint('PUT auth/current/password', {
  id: 'changeOwnPassword',
  summary: 'Change your password',
  body: PasswordBody,
  answer: { description: 'The password is changed.' },
  work: (deps, ctx) => changePassword(deps, ctx, callerOf(ctx).userId),
});

export const anothersPassword = endpoint('PUT auth/:id/password', {
  id: 'changePassword',
  summary: "Set a user's password",
  params: { id: Id },
  body: PasswordBody,
  description:
    'Of a sub-user; administrators can set the password of anyone but other administrators. `old-password` is ' +
    "the caller's own.",
  answer: { description: 'The password is set.' },
  work: async (deps, ctx) => changePassword(deps, ctx, (await findOwn(deps, ctx)).id),
});

export const userStatus = endpoint('PUT user/:id/status', {
  id: 'setUserStatus',
  summary: 'Suspend or reactivate a user',
  params: { id: Id },
  body: closed({ status: oneOf(STATUSES, { description: 'The new status.' }) }),
  description: 'Takes effect on every replica within a second.',
  answer: { description: 'The changed user.', schema: ShownUser },
  async work(deps, ctx, asked) {
    const target = await findOwn(deps, ctx);
    if (target.id === callerOf(ctx).userId || target.role === 'root')
      throw new ApiError('own-account', { text: "you cannot change your own status or the root user's" });
    return shownUser(await change(deps, ctx, target, { status: asked.status }));
  },
});

export const eraseUser = endpoint('DELETE user/:id', {
  id: 'deleteUser',
  summary: 'Delete a user and all of their data',
  params: { id: Id },
  description:
    'Deletes their sub-users, tokens, sessions, requests, results and statistics as well. What finished months ' +
    'count of them stays in sums without names. Deleting large amounts continues in the background.',
  answer: { description: 'The accounts are deleted.' },
  async work(deps, ctx) {
    const target = await findOwn(deps, ctx);
    if (target.id === callerOf(ctx).userId || target.role === 'root')
      throw new ApiError('own-account', { text: 'you cannot delete yourself or the root user' });
    const gone = await withEntry(deps, ctx, async (store) => {
      const users = await store.eraseUser(target.id, { withinMs: 0 });
      if (users.length === 0) throw notFound();
      const below = users.filter((id) => id !== target.id);
      note(ctx, { changes: changesOf({ ...auditedUser(target), below: below.length > 0 ? below : null }, null) });
      return users;
    });
    await deps.store.eraseData(gone);
  },
});

async function shownInForce({ store }: Deps, id: number, limits: UserLimits | null) {
  const inForce = orNotFound(await store.userLimitsInForce(id));
  return shownUserLimits(orNotFound(limits), inForce);
}

const auditedLimits = (limits: UserLimits) => ({
  ...shownLimits(limits),
  'account-concurrency': limits.accountConcurrency,
});

export const userLimits = endpoint('GET user/:id/limits', {
  id: 'readUserLimits',
  summary: "A user's limits",
  params: { id: Id },
  answer: {
    description:
      "As set; null: inherited from the accounts above, or the installation's default. " +
      '`in-force` has the effective limits.',
    schema: ShownUserLimits,
  },
  async work(deps, ctx) {
    const { id } = await findSeen(deps, ctx);
    return await shownInForce(deps, id, await deps.store.userLimits(id));
  },
});
export const setUserLimits = endpoint('PUT user/:id/limits', {
  id: 'setUserLimits',
  summary: "Set a user's limits",
  params: { id: Id },
  body: closed(AskedUserLimits),
  description: 'Omitted fields keep their value; null removes a limit.',
  answer: { description: 'The changed limits.', schema: ShownUserLimits },
  async work(deps, ctx, asked) {
    const { id, rootId } = await findLimited(deps, ctx);
    if (id !== rootId && typeof asked['account-concurrency'] === 'number')
      throw invalid('account-concurrency', `can only be set on the root user of the account, user ${rootId}`);
    const before = orNotFound(await deps.store.userLimits(id));
    const limits = changedUserLimits(asked, before);
    await withEntry(deps, ctx, async (store) => {
      await store.setUserLimits(id, limits);
      note(ctx, { changes: changesOf(auditedLimits(before), auditedLimits(limits)) });
    });
    return await shownInForce(deps, id, limits);
  },
});
