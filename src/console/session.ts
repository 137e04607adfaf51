/** Who is signed in. The session itself is a cookie that scripts cannot read; the API is asked who it belongs to. */
import { call, isFailure, whenSignedOut } from './api/client.ts';
import { forgetTokens } from './api/gateway.ts';
import type { Failure } from './api/failure.ts';
import type { User } from '../api_types.ts';
import { makeCell, useCell } from './cell.ts';

export interface SessionState {
  /** `ended`: in the middle of work. The page stays, and a new sign-in continues it. */
  state: 'unknown' | 'signed-out' | 'signed-in' | 'ended';
  user: User | null;
  /** Why it is not known. */
  failure: Failure | null;
  /** How often a sign-in succeeded: calls that failed without one are made again. */
  signIns: number;
}

export const session = makeCell<SessionState>({ state: 'unknown', user: null, failure: null, signIns: 0 });

/** Of the views that only those with an account get to. */
export const useUser = (): User => useCell(session).user!;

export async function readSession(): Promise<void> {
  const before = session.get();
  try {
    const user = await call('GET user/current');
    // Another account must not see what the last one left on the page.
    if (before.user !== null && before.user.id !== user.id) return location.assign('/app/');
    // They ended with the session that made them.
    if (before.state === 'ended') forgetTokens();
    session.set({ state: 'signed-in', user, failure: null, signIns: before.signIns + 1 });
  } catch (error) {
    if (!isFailure(error)) throw error;
    if (error.kind === 'signed-out') session.set({ ...before, state: before.user ? 'ended' : 'signed-out' });
    else session.set({ ...before, failure: error });
  }
}

export async function signOut(everywhere = false): Promise<void> {
  await call('DELETE auth/sign-out', { query: { 'logout-all': everywhere } });
  // A new page: nothing of this account stays in memory.
  location.assign('/app/sign-in');
}

whenSignedOut(() => {
  const before = session.get();
  if (before.state === 'signed-in') session.set({ ...before, state: 'ended' });
});

/** Whether the user may: `read:media`. Only what is shown follows from it; the API decides. */
export function may(user: User, permission: string): boolean {
  return Object.hasOwn(user.permissions, permission) && !user.restrictions.includes(permission);
}
