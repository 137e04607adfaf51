/** A separate account with two tokens, within the default limits. */
import { createHash, randomBytes } from 'node:crypto';
import type { Cluster } from '../../cluster/fixture.ts';

export interface Account {
  tokens: [string, string];
  end(): Promise<void>;
}

/** The chart's defaults for a user, repeated here so that the test notices a change. */
const PER_MINUTE = 100;
const AT_ONCE = 10;

export async function makeAccount(c: Cluster): Promise<Account> {
  const first = randomBytes(32).toString('hex');
  const user = Number(
    await c.sql(
      `insert into users (email, status, role, permissions, requests_per_minute, concurrency)
     select 'neighbour-' || gen_random_uuid() || '@example.invalid', 'active', 'user', u.permissions,
     ${PER_MINUTE}, ${AT_ONCE}
     from users u join tokens t on t.user_id = u.id where t.is_default returning id`,
    ),
  );
  await c.sql(
    `insert into tokens (user_id, name, sha256) values (${user}, 'neighbour', ` +
      `decode('${createHash('sha256').update(first).digest('hex')}', 'hex'))`,
  );
  // Through the API, which gives them a webhook signing secret.
  const made = async (name: string): Promise<string> => {
    const answer = await fetch(`${c.url}/frontend/api/v1/auth/api-token`, {
      method: 'POST',
      headers: { authorization: `Bearer ${first}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    });
    if (answer.status !== 201) throw new Error(`no token was made: ${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { token: string }).token;
  };
  return {
    tokens: [await made('one'), await made('two')],
    end: async () => void (await c.sql(`update tokens set revoked_at = now() where user_id = ${user}`)),
  };
}
