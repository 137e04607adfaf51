/** The caller, and whose data they may see. Pure. */
import { PERMISSIONS, type Permission } from '../../platform/store/permissions.ts';
import type { Holder } from '../../platform/store/limits.ts';
import type { TokenRecord } from '../../platform/store/records.ts';

/** Granted at sign-up. */
export const USER_PERMISSIONS: readonly Permission[] = PERMISSIONS.filter((name) => !name.endsWith(':admin'));

export const ROLES = ['root', 'admin', 'user', 'sub'] as const satisfies Holder['role'][];
export const STATUSES = ['anonymous', 'pending', 'active', 'suspended'] as const satisfies Holder['userStatus'][];

export interface Caller extends Omit<Holder, 'permissions'> {
  /** Permissions of this credential: a narrowed token narrows everything that is reached with it. */
  permissions: readonly string[];
  /** The API token that calls, or that the JWT was created from. */
  tokenId: number | null;
  /** Set for a JWT. */
  sessionId: string | null;
  expiresAt: Date | null;
  /**
   * True for the JWT of a sign-in: what it creates belongs to the account. What another credential creates expires with
   * that credential.
   */
  signedIn: boolean;
}

export const isAdmin = ({ role }: Pick<Caller, 'role'>): boolean => role === 'root' || role === 'admin';

/** An administrator with a token that lacks the permission is treated like any other user. */
export const seesEveryone = (caller: Pick<Caller, 'role' | 'permissions'>): boolean =>
  isAdmin(caller) && caller.permissions.includes('read:admin');
/** Below whom users are that the caller sees; null: they see everyone. */
export const seenBy = (caller: Pick<Caller, 'role' | 'permissions' | 'userId'>): number | null =>
  seesEveryone(caller) ? null : caller.userId;
export const changesEveryone = (caller: Pick<Caller, 'role' | 'permissions'>): boolean =>
  isAdmin(caller) && caller.permissions.includes('write:admin');

export const callerOfToken = (token: TokenRecord): Caller => ({
  userId: token.userId,
  rootUserId: token.rootUserId,
  role: token.role,
  userStatus: token.userStatus,
  permissions: token.permissions,
  tokenId: token.id,
  sessionId: null,
  expiresAt: token.expiresAt,
  signedIn: false,
});

/** The latest expiry of credentials that the caller may create or see; null: unlimited. */
export const latestEnd = ({ signedIn, expiresAt }: Pick<Caller, 'signedIn' | 'expiresAt'>): Date | null =>
  signedIn ? null : expiresAt;
