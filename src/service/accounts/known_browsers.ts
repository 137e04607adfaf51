/**
 * Marks of browsers that have signed in to an account, so that wrong passwords from elsewhere cannot lock the owner
 * out. A mark does not authenticate. It is bound to the user and the password, so a password change invalidates it:
 * someone who knew the old password could have collected any number of marks.
 */
import { createHash, randomUUID } from 'node:crypto';
import { isUuid } from '../../platform/store/uuid.ts';
import type { Box } from './box.ts';

export const KNOWN_MS = 180 * 86_400_000;
/** A mark has about 300 characters. */
const MAX_MARK = 1024;

export interface Owner {
  userId: number;
  passwordHash: string;
}

const purposeOf = ({ userId, passwordHash }: Owner): string =>
  `${userId}:${createHash('sha256').update(passwordHash).digest('base64url').slice(0, 22)}`;

export const makeKnownBrowsers = (box: Box, now: () => number) => ({
  /** Creates a mark for this browser, with its previous id if it had one. */
  async mark(owner: Owner, browser: string | null): Promise<string> {
    const kept = JSON.stringify({ id: browser ?? randomUUID(), until: now() + KNOWN_MS });
    return (await box.seal(kept, 'browser', purposeOf(owner))).toString('latin1');
  },
  /** The browser's id; null if the mark is not valid for this account. */
  async read(owner: Owner, mark: string | undefined): Promise<string | null> {
    if (mark === undefined || mark.length > MAX_MARK) return null;
    const kept = await box.openKept(mark, 'browser', purposeOf(owner));
    if (kept === null) return null;
    const { id, until } = JSON.parse(kept) as { id: string; until: number };
    return until > now() && isUuid(id) ? id : null;
  },
});
