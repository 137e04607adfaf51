/** An account of its own with two tokens, within the limits that every account has. */
import { createHash, randomBytes } from 'node:crypto';
import type { Cluster } from '../../cluster/fixture.ts';

export interface Account { tokens: [string, string]; end(): Promise<void> }

/** The chart's defaults of a user, written out so that a change of them is seen here. */
const PER_MINUTE = 100;
const AT_ONCE = 10;

export async function makeAccount(c: Cluster): Promise<Account> {
  const tokens = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')] as [string, string];
  const user = Number(await c.sql(
    `insert into users (email, status, role, permissions, requests_per_minute, concurrency)
     select 'neighbour-' || gen_random_uuid() || '@example.invalid', 'active', 'user', u.permissions, ${PER_MINUTE}, ${AT_ONCE}
     from users u join tokens t on t.user_id = u.id where t.is_default returning id`,
  ));
  const rows = tokens.map((token) => `(${user}, 'neighbour', decode('${createHash('sha256').update(token).digest('hex')}', 'hex'))`);
  await c.sql(`insert into tokens (user_id, name, sha256) values ${rows.join(', ')}`);
  return { tokens, end: async () => void (await c.sql(`update tokens set revoked_at = now() where user_id = ${user}`)) };
}
