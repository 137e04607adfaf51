/** Tokens of separate users for many callers, created in one statement and revoked in one. */
import { createHash, randomBytes } from 'node:crypto';
import type { Cluster } from '../../test/cluster/fixture.ts';

export async function manyTokens(
  c: Cluster,
  count: number,
  concurrency = 10,
): Promise<{ tokens: string[]; revoke(): Promise<void> }> {
  const tokens = Array.from({ length: count }, () => randomBytes(48).toString('hex').slice(0, 64));
  const digests = tokens.map((token) => `'${createHash('sha256').update(token).digest('hex')}'`).join(',');
  const ids = await c.sql(
    `with given as (select sha, row_number() over () as n from unnest(array[${digests}]) sha),
     made as (insert into users (email, status, role, permissions, requests_per_minute, concurrency)
       select 'bench-' || gen_random_uuid() || '@example.invalid', 'active', 'user', u.permissions, 10000000, 10000
       from users u join tokens t on t.user_id = u.id, given where t.is_default returning id),
     numbered as (select id, row_number() over () as n from made),
     inserted as (insert into tokens (user_id, name, sha256, concurrency, requests_per_minute)
       select m.id, 'bench', decode(g.sha, 'hex'),
       ${concurrency}, 1000000 from numbered m join given g using (n) returning id)
     select string_agg(id::text, ',') from inserted`,
  );
  return {
    tokens,
    revoke: async () => void (await c.sql(`update tokens set revoked_at = now() where id in (${ids})`)),
  };
}
