/** Who calls, and whose data they may see. Pure. */
import { PERMISSIONS, type Permission } from '../store/permissions.ts';
import type { TokenRecord } from '../store/records.ts';

/** Granted at sign-up. */
export const USER_PERMISSIONS: readonly Permission[] = PERMISSIONS.filter((name) => !name.endsWith(':admin'));

export const ROLES = ['root', 'admin', 'user', 'sub'] as const;
export type Role = (typeof ROLES)[number];

export const STATUSES = ['anonymous', 'pending', 'active', 'suspended'] as const;
export type Status = (typeof STATUSES)[number];

export interface Caller {
  userId: number;
  rootUserId: number;
  role: Role;
  /** Suspended where an account above is. */
  status: Status;
  /** Of this credential: a narrowed token narrows everything that is reached with it. */
  permissions: readonly string[];
  by: 'token' | 'jwt';
  /** The API token that calls, or that the JWT came from. */
  tokenId: number | null;
  /** Of a JWT. */
  sessionId: string | null;
  /** When the credential ends by itself. */
  expiresAt: Date | null;
  /** By the JWT of a sign-in: what it makes is the account's own. What any other credential makes ends with it. */
  signedIn: boolean;
}

export const isAdmin = ({ role }: Pick<Caller, 'role'>): boolean => role === 'root' || role === 'admin';

/** An administrator by a token that lacks the permission is a user like any other. */
export const seesEveryone = (caller: Pick<Caller, 'role' | 'permissions'>): boolean =>
  isAdmin(caller) && caller.permissions.includes('read:admin');
export const changesEveryone = (caller: Pick<Caller, 'role' | 'permissions'>): boolean =>
  isAdmin(caller) && caller.permissions.includes('write:admin');

export const callerOfToken = (token: TokenRecord): Caller => ({
  userId: token.userId,
  rootUserId: token.rootUserId,
  role: token.role,
  status: token.userStatus,
  permissions: token.permissions,
  by: 'token',
  tokenId: token.id,
  sessionId: null,
  expiresAt: token.expiresAt,
  signedIn: false,
});

/** The latest end of what the caller may make or be shown; null: none. */
export const latestEnd = ({ signedIn, expiresAt }: Pick<Caller, 'signedIn' | 'expiresAt'>): Date | null =>
  signedIn ? null : expiresAt;
