/**
 * The user who signs in as a person that an issuer names: known by issuer and subject, linked where the operator says
 * so, or made. What their groups give is looked at each time.
 */
import type { IssuerSettings } from '../../../base/issuer_settings.ts';
import { PERMISSIONS } from '../../../platform/store/permissions.ts';
import type { UserRecord } from '../../../platform/store/users.ts';
import { USER_PERMISSIONS } from '../../accounts/caller.ts';
import { accountFull } from '../accounts/account_limits.ts';
import { checkActive } from '../accounts/session_endpoints.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside } from '../errors.ts';
import { accessOf, notFrom, type Access, type Person } from './person.ts';

type Parts = Pick<Deps, 'store' | 'accounts' | 'log'>;

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

/** Their API tokens must not go on without them. */
async function lapse({ store, log }: Parts, user: UserRecord, person: Named, settings: IssuerSettings): Promise<never> {
  await store.lapseUser(user.id);
  log.info({ issuer: settings.name, user: user.id }, 'no group gives this user access any more');
  if (accessOf(person.groups, settings.groups, null))
    throw refused('your groups give you another account than yours; an administrator has to delete yours first');
  throw refused(`none of your groups at ${settings.name} has access any more`);
}

/** Null: no account has the address, or the operator does not want them linked. */
async function linked({ store, log }: Parts, person: Named, settings: IssuerSettings): Promise<UserRecord | null> {
  if (!settings.linkByEmail || person.isVerified !== true) return null;
  const found = await store.findByEmail(person.email);
  if (!found) return null;
  if (!accessOf(person.groups, settings.groups, found.user))
    throw refused('your groups do not give you the account that has your address; ask an administrator');
  if ((await store.linkIdentity(person, person.email)) === null) return null;
  log.info({ issuer: settings.name, user: found.user.id }, 'account linked by single sign-on');
  return found.user;
}

async function made({ store, accounts, log }: Parts, person: Named, settings: IssuerSettings): Promise<number> {
  const { name } = settings;
  const access = accessOf(person.groups, settings.groups, null);
  if (!access) throw refused(`none of your groups at ${name} has access; ask an administrator`);
  const { mostSubUsers, mostTokens } = accounts.settings;
  const user = { ...person, ...access, permissions: permissionsOf(access) };
  const id = await store.makeIdentityUser(user, { subUsers: mostSubUsers, tokens: mostTokens });
  if (typeof id === 'number') {
    log.info({ issuer: name, user: id, role: access.role }, 'account made by single sign-on');
    return id;
  }
  // Another tab, at the same time.
  const other = await store.findIdentity(person);
  if (other !== null) return other;
  if (id === 'email-taken') throw refused('your e-mail address has an account already; ask an administrator');
  if (id !== 'no-parent') throw accountFull(id, accounts.settings);
  log.warn({ issuer: name, parent: access.parentId }, 'a group gives an account that does not exist');
  throw refused('your group gives an account that does not exist; tell the operator of this installation');
}

/** Throws an ApiError for whoever is not let in. */
export async function userOf(parts: Parts, someone: Person, settings: IssuerSettings): Promise<UserRecord> {
  const { store } = parts;
  const person = named(someone, settings);
  const known = await store.findIdentity(person);
  const user = known === null ? await linked(parts, person, settings) : await store.findUser(known);
  const id = user?.id ?? (await made(parts, person, settings));
  if (user) {
    const access = accessOf(person.groups, settings.groups, user) ?? (await lapse(parts, user, person, settings));
    await store.seeIdentity({ ...person, role: access.role, permissions: permissionsOf(access) });
  }
  const now = await store.findUser(id);
  if (!now) throw inside('a user was deleted while they signed in');
  checkActive(now);
  return now;
}
