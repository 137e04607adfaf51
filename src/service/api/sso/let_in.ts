/**
 * The user who signs in as a person that an issuer names: known by issuer and subject, linked where the operator says
 * so, or made. What their groups give is looked at each time.
 */
import type { IssuerSettings } from '../../../base/issuer_settings.ts';
import type { AuditChange } from '../../../platform/store/audit.ts';
import { NAMED_ONLY, PERMISSIONS } from '../../../platform/store/permissions.ts';
import type { StoreCalls } from '../../../platform/store/store.ts';
import type { UserRecord } from '../../../platform/store/users.ts';
import { USER_PERMISSIONS } from '../../accounts/caller.ts';
import { makeApiToken, MOST_TOKENS } from '../../accounts/make_token.ts';
import { auditedUser } from '../accounts/account_fields.ts';
import { accountFull } from '../accounts/account_limits.ts';
import { checkActive } from '../accounts/session_endpoints.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside } from '../errors.ts';
import { changesOf, note, secrets, withEntry } from '../http/audit.ts';
import type { Context } from '../http/request_context.ts';
import { accessOf, notFrom, type Access, type Person } from './person.ts';

const refused = (text: string): ApiError => new ApiError('sso-refused', { text });

const permissionsOf = ({ role }: Access): readonly string[] => (role === 'admin' ? PERMISSIONS : USER_PERMISSIONS);

/** A person with an address, and groups as far as the issuer named any. */
interface Named extends Person {
  email: string;
  groups: readonly string[];
}

function named(person: Person, settings: IssuerSettings): Named {
  const unfit = notFrom(person, settings);
  if (unfit !== null) throw refused(unfit);
  const { email, groups } = person;
  // Not sure that there are none: nobody is suspended for it.
  if (groups === null || email === null)
    throw refused(`${settings.name} gave no groups of you; tell the operator of this installation`);
  return { ...person, email, groups };
}

const changesTo = (before: UserRecord | null, after: UserRecord): AuditChange[] =>
  changesOf(before && auditedUser(before), auditedUser(after));

async function nowOf(store: StoreCalls, id: number): Promise<UserRecord> {
  const user = await store.findUser(id);
  if (!user) throw inside('a user was deleted while they signed in');
  return user;
}

/** Their API tokens must not go on without them. */
async function lapse(
  deps: Deps,
  ctx: Context,
  user: UserRecord,
  person: Named,
  { name, groups }: IssuerSettings,
): Promise<never> {
  const refusal = refused(
    accessOf(person.groups, groups, null)
      ? 'your groups give you another account than yours; an administrator has to delete yours first'
      : `none of your groups at ${name} has access any more`,
  );
  const suspend = async (store: StoreCalls): Promise<void> => {
    await store.lapseUser(user.id);
    const changes = changesTo(user, await nowOf(store, user.id));
    note(ctx, { subject: `user/${user.id}`, changes: [...changes, ...secrets('changed', 'sessions')] });
  };
  await withEntry(deps, ctx, suspend, refusal);
  throw refusal;
}

/** Null: no account has the address, or the operator does not want them linked. */
async function linked(store: StoreCalls, person: Named, settings: IssuerSettings): Promise<UserRecord | null> {
  if (!settings.linkByEmail || person.isVerified !== true) return null;
  const found = await store.findByEmail(person.email);
  if (!found) return null;
  if (!accessOf(person.groups, settings.groups, found.user))
    throw refused('your groups do not give you the account that has your address; ask an administrator');
  return (await store.linkIdentity(person, person.email)) === null ? null : found.user;
}

/** The id of a new user; one who was made at the same time, in another tab. */
async function newUser(
  { accounts, log }: Deps,
  store: StoreCalls,
  person: Named,
  settings: IssuerSettings,
): Promise<number | UserRecord> {
  const { name } = settings;
  const access = accessOf(person.groups, settings.groups, null);
  if (!access) throw refused(`none of your groups at ${name} has access; ask an administrator`);
  const { mostSubUsers, mostTokens } = accounts.settings;
  const user = { ...person, ...access, permissions: permissionsOf(access) };
  const id = await store.makeIdentityUser(user, { subUsers: mostSubUsers, tokens: mostTokens });
  if (typeof id === 'number') return id;
  const other = await store.findIdentity(person);
  if (other !== null) return nowOf(store, other);
  if (id === 'email-taken') throw refused('your e-mail address has an account already; ask an administrator');
  if (id !== 'no-parent') throw accountFull(id, accounts.settings);
  log.warn({ issuer: name, parent: access.parentId }, 'a group gives an account that does not exist');
  throw refused('your group gives an account that does not exist; tell the operator of this installation');
}

/** Makes what the sign-in opens, with its entry in the audit log. Throws an ApiError for whoever is not let in. */
export async function signInAs<T>(
  deps: Deps,
  ctx: Context,
  someone: Person,
  settings: IssuerSettings,
  open: (store: StoreCalls, user: UserRecord) => Promise<T>,
): Promise<T> {
  const person = named(someone, settings);
  const knownId = await deps.store.findIdentity(person);
  const known = knownId === null ? null : await deps.store.findUser(knownId);
  if (known) note(ctx, { actor: known });
  if (known && !accessOf(person.groups, settings.groups, known)) return lapse(deps, ctx, known, person, settings);
  return withEntry(deps, ctx, async (store) => {
    const found = known ?? (await linked(store, person, settings)) ?? (await newUser(deps, store, person, settings));
    const before = typeof found === 'number' ? null : found;
    const access = before && accessOf(person.groups, settings.groups, before);
    if (access) await store.seeIdentity({ ...person, role: access.role, permissions: permissionsOf(access) });
    const user = await nowOf(store, typeof found === 'number' ? found : found.id);
    note(ctx, { actor: user });
    checkActive(user);
    const opened = await open(store, user);
    const changes = [...changesTo(before, user), ...(known ? [] : [{ field: 'issuer', after: settings.name }])];
    if (changes.length > 0) note(ctx, { subject: `user/${user.id}`, changes });
    return opened;
  });
}

/** For a program: all permissions of the user but the one that is given by name alone, for so long. */
export async function makeProgramToken(
  { accounts, store: { clock } }: Deps,
  store: Pick<StoreCalls, 'nextTokenId' | 'makeToken'>,
  user: UserRecord,
  name: string,
  lifeMs: number,
) {
  const expiresAt = new Date(clock.now() + lifeMs);
  const permissions = user.permissions.filter((one) => one !== NAMED_ONLY);
  const made = await makeApiToken({ ...accounts, store }, { userId: user.id, name, permissions, expiresAt });
  if (made === 'account-full') throw accountFull('tokens', accounts.settings);
  if (made === 'too-many')
    throw new ApiError('too-many-tokens', { text: `you have ${MOST_TOKENS} API tokens; revoke some in the console` });
  if (made === 'maker-ended') throw inside('a sign-in has no maker that ends');
  return { ...made, expiresAt };
}
