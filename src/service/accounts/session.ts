/** Opens a session: its JWT, and its entry in the user's list. */
import { randomUUID } from 'node:crypto';
import type { Store } from '../../platform/store/store.ts';
import type { Caller } from './caller.ts';
import type { Jwts } from './jwt.ts';

const HOUR_MS = 3_600_000;
const SHORT_MS = 3 * HOUR_MS;
const LONG_MS = 14 * 24 * HOUR_MS;

export interface SessionAsked {
  userId: number;
  long: boolean;
  remoteIp: string;
  userAgent: string;
  /** For a JWT requested with another credential: it has no more permissions, expires no later, and ends with it. */
  within?: Pick<Caller, 'tokenId' | 'sessionId' | 'permissions' | 'expiresAt'>;
}

export interface OpenedSession {
  id: string;
  token: string;
  expire: Date;
}

export async function openSession(
  { store, jwts }: { store: Pick<Store, 'openSession' | 'clock'>; jwts: Jwts },
  asked: SessionAsked,
): Promise<OpenedSession | 'parent-ended' | 'too-deep'> {
  const { userId, long, within } = asked;
  const wanted = store.clock.now() + (long ? LONG_MS : SHORT_MS);
  const expire = new Date(Math.floor(Math.min(wanted, within?.expiresAt?.getTime() ?? Infinity) / 1000) * 1000);
  const id = randomUUID();
  const token = await jwts.sign('session', { id, userId }, expire);
  const opened = await store.openSession({
    id,
    userId,
    tokenId: within?.tokenId ?? null,
    parentId: within?.sessionId ?? null,
    permissions: within?.permissions ?? null,
    remoteIp: asked.remoteIp.slice(0, 64),
    userAgent: asked.userAgent.slice(0, 512),
    expiresAt: expire,
  });
  return opened === 'opened' ? { id, token, expire } : opened;
}
