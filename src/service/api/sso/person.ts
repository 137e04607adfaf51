/** What an issuer says of a person, and what their groups give them. Pure. */
import type { IssuerSettings } from '../../../base/issuer_settings.ts';
import type { UserRecord } from '../../../platform/store/users.ts';

export interface Person {
  issuer: string;
  subject: string;
  /** Null: it said none, or none that an account can have. */
  email: string | null;
  /** Whether the issuer says that the address is theirs. Null: it does not say. */
  isVerified: boolean | null;
  firstName: string;
  lastName: string;
  /** Null: it said nothing of groups. */
  groups: readonly string[] | null;
}

type Claims = Readonly<Record<string, unknown>>;

/** ASCII alone: to lower-case others may make one address of two. */
const EMAIL = /^[!-?A-~]{1,64}@[!-?A-~]{1,189}$/;
const SUBJECT = /^[^\p{C}]{1,255}$/u;
const LONGEST_NAME = 100;
const MOST_GROUPS = 5_000;

/** A claim of this name, else what a path of names leads to. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

const nameIn = (value: unknown): string =>
  typeof value === 'string' ? [...value.replaceAll(/\p{C}/gu, '').trim()].slice(0, LONGEST_NAME).join('') : '';

function groupsIn(value: unknown): string[] | null {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.slice(0, MOST_GROUPS).filter((one) => typeof one === 'string') : null;
}

/** Null: the subject is none that can be kept. */
export function personOf(claims: Claims, names: IssuerSettings['claims']): Person | null {
  const { iss, sub, email_verified: verified } = claims;
  if (typeof iss !== 'string' || typeof sub !== 'string' || !SUBJECT.test(sub)) return null;
  const email = claimAt(claims, names.email);
  return {
    issuer: iss,
    subject: sub,
    email: typeof email === 'string' && EMAIL.test(email) ? email : null,
    isVerified: typeof verified === 'boolean' ? verified : null,
    firstName: nameIn(claims['given_name'] ?? claims['name']),
    lastName: nameIn(claims['family_name']),
    groups: groupsIn(claimAt(claims, names.groups)),
  };
}

export type Access = { role: 'admin' | 'user'; parentId: null } | { role: 'sub'; parentId: number };

const ADMIN: Access = { role: 'admin', parentId: null };
const USER: Access = { role: 'user', parentId: null };

/**
 * Of a new user the most that the groups give: administration, else a place below a user, else an account of one's own.
 * A user who exists keeps the place that they have, and gets the role that the groups give there. Null: the groups give
 * nothing, or nothing of that place.
 */
export function accessOf(
  groups: readonly string[],
  given: IssuerSettings['groups'],
  now: Pick<UserRecord, 'role' | 'parentId'> | null,
): Access | null {
  const all = groups.flatMap((group) => (Object.hasOwn(given, group) ? [given[group]!] : []));
  const parents = all.filter((one) => typeof one === 'number');
  if (now?.role === 'sub') {
    const parentId = parents.find((one) => one === now.parentId);
    return parentId === undefined ? null : { role: 'sub', parentId };
  }
  if (all.includes('admin')) return ADMIN;
  if (now?.role === 'root') return null;
  if (now === null && parents.length > 0) return { role: 'sub', parentId: Math.min(...parents) };
  return all.includes('user') ? USER : null;
}

/** Why nobody with these claims is let in, whatever their groups are. Null: they are. */
export function notFrom({ email, isVerified }: Person, { name, allowedDomains }: IssuerSettings): string | null {
  if (email === null) return `${name} gave no e-mail address of you`;
  if (isVerified === false) return `${name} has not confirmed your e-mail address; confirm it there`;
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  if (allowedDomains.length > 0 && !allowedDomains.some((one) => one.toLowerCase() === domain))
    return `addresses of ${domain} have no access`;
  return null;
}
