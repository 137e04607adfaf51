/** Which users a caller may change, and which permissions they may grant. Pure. */
import type { UserRecord } from '../../platform/store/users.ts';
import { effectivePermissions } from '../../platform/store/limits.ts';
import { changesEveryone, latestEnd, USER_PERMISSIONS, type Caller } from './caller.ts';

/**
 * Themselves and everyone below them. An administrator: everyone except other administrators, whom only the root user
 * changes.
 */
export function mayChange(
  caller: Pick<Caller, 'userId' | 'role' | 'permissions'>,
  target: Pick<UserRecord, 'id' | 'role' | 'parentIds'>,
): boolean {
  if (target.id === caller.userId || target.parentIds.includes(caller.userId)) return true;
  if (!changesEveryone(caller)) return false;
  return caller.role === 'root' || (target.role !== 'root' && target.role !== 'admin');
}

/** The first permission that the caller cannot grant: callers grant only what they have, and never administration. */
export const notToGive = (caller: Pick<Caller, 'permissions'>, wanted: readonly string[]): string | undefined =>
  wanted.find((name) => !caller.permissions.includes(name) || !USER_PERMISSIONS.some((known) => known === name));

export const subUserDefaults = (caller: Pick<Caller, 'permissions'>): string[] =>
  USER_PERMISSIONS.filter((name) => caller.permissions.includes(name));

/** Prevents escalation: a narrowed credential cannot reach a token with more permissions. */
export function reachesNoFurther(
  caller: Pick<Caller, 'permissions'>,
  owner: Pick<UserRecord, 'permissions' | 'restrictions'>,
  tokenPermissions: readonly string[] | null,
): boolean {
  const may = effectivePermissions(
    tokenPermissions === null ? null : [...tokenPermissions],
    owner.permissions,
    owner.restrictions,
  );
  return may.every((name) => caller.permissions.includes(name));
}

/** Prevents extension: an expiring credential cannot obtain one that expires later. */
export function endsNoLater(caller: Pick<Caller, 'signedIn' | 'expiresAt'>, expiresAt: Date | null): boolean {
  const latest = latestEnd(caller);
  return latest === null || (expiresAt !== null && expiresAt <= latest);
}
