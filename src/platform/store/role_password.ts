/** The password of a role of Postgres, changed by the role itself: any role may, and no superuser is needed. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { connectedFor } from './connection.ts';
import { asStoreError, isStoreError } from './errors.ts';

const ROUNDS = 4096;

/** As Postgres stores it: the password itself is not sent, and cannot appear in the server's log. */
function verifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ROUNDS, 32, 'sha256');
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(hmac('Client Key')).digest('base64');
  const server = hmac('Server Key').toString('base64');
  return `SCRAM-SHA-256$${ROUNDS}:${salt.toString('base64')}$${stored}:${server}`;
}

/** The role signs in with the first of the addresses that the server accepts. */
export async function setPassword(addresses: readonly string[], password: string): Promise<void> {
  const what = 'change of a password';
  let refused: unknown;
  for (const url of addresses) {
    const client = await connectedFor(what, { url, name: 'probeyard-rotate' }).catch((error: unknown) => {
      if (!isStoreError(error, 'unreachable')) throw error;
      refused = error;
      return undefined;
    });
    if (!client) continue;
    try {
      await client.query(`alter role current_user password '${verifier(password)}'`);
      return;
    } catch (error) {
      throw asStoreError(error, what);
    } finally {
      await client.end().catch(() => {});
    }
  }
  throw refused;
}
