/**
 * The first administrator with its token, and the token of jobs created with kubectl. Both are created at installation
 * and looked up at every start.
 */
import type pg from 'pg';
import { type ConnectionSettings, withConnection } from './connection.ts';
import { StoreError } from './errors.ts';
import { hashPassword, verifyPassword } from './password.ts';
import { PERMISSIONS } from './permissions.ts';
import { parameters } from './storable.ts';
import { isToken, tokenSha256 } from './token_text.ts';

export interface AdminInput {
  email: string;
  password?: string | undefined;
  token: string;
}

const INSTALL_TOKEN = 'install';
const DEFAULT_TOKEN = 'kubectl';

/**
 * Idempotent, and safe to run from several replicas at once. A changed token replaces the old one; a password that was
 * changed since the installation is kept.
 */
export async function bootstrapAdmin(
  settings: ConnectionSettings,
  input: AdminInput,
): Promise<{ userId: number; tokenId: number }> {
  if (!isToken(input.token))
    throw new StoreError('invalid', 'the admin token must be 64 characters of A-Z, a-z and 0-9');
  if (!/^[^\s@]+@[^\s@]+$/.test(input.email))
    throw new StoreError('invalid', 'the admin e-mail is not a valid address');
  const passwordHash = input.password ? await hashPassword(input.password) : null;
  const session = { ...settings, name: 'probeyard-migrate' };
  return withConnection('bootstrap of the administrator', session, async (client) => {
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(hashtext('probeyard.admin'))`);
    const userId = await ensureUser(client, input.email, passwordHash);
    const tokenId = await ensureToken(client, userId, tokenSha256(input.token));
    await client.query(
      `insert into tokens (user_id, name, is_default, permissions) select $1, $2, true, '{write:media,read:media}'
        where not exists (select from tokens where is_default)`,
      [userId, DEFAULT_TOKEN],
    );
    await client.query('commit');
    return { userId, tokenId };
  });
}

/**
 * The administrator gets another token, and another password while theirs is still the known one: one that they have
 * chosen stays. Twice is the same as once.
 */
export async function renewAdmin(
  settings: ConnectionSettings,
  { email, token, password, known }: AdminInput & { password: string; known: string },
): Promise<void> {
  const { userId } = await bootstrapAdmin(settings, { email, token });
  await withConnection('password of the administrator', { ...settings, name: 'probeyard-rotate' }, async (client) => {
    const stored = await client.query<{ hash: string | null }>(`select password_hash hash from users where id = $1`, [
      userId,
    ]);
    if (!(await verifyPassword(known, stored.rows[0]?.hash ?? ''))) return;
    await client.query('begin');
    await client.query('update users set password_hash = $2, updated_at = now() where id = $1', [
      userId,
      await hashPassword(password),
    ]);
    await client.query('update sessions set ended_at = now() where user_id = $1 and ended_at is null', [userId]);
    await client.query('commit');
  });
}

async function ensureUser(client: pg.Client, email: string, passwordHash: string | null): Promise<number> {
  // The recorded id comes first: a changed address in the secret then renames the administrator and does not create a
  // second one.
  const known = await client.query<{ id: number }>(
    `select u.id from users u where u.id = (select (value #>> '{}')::bigint from settings where key = 'admin.user')
      or lower(u.email) = lower($1) order by u.role = 'root' desc, u.id limit 1`,
    parameters([email]),
  );
  const id = known.rows[0]?.id;
  if (id !== undefined) {
    await keepAdmin(client, id);
    await client.query(
      `update users set email = $2, password_hash = coalesce(password_hash, $3), role = 'root', status = 'active',
        permissions = $4, updated_at = now()
        where id = $1 and (email, role, status, permissions) is distinct from ($2, 'root', 'active', $4::text[])
          or id = $1 and password_hash is null and $3::text is not null`,
      parameters([id, email, passwordHash, [...PERMISSIONS]]),
    );
    return id;
  }
  const made = await client.query<{ id: number }>(
    `insert into users (email, password_hash, role, status, permissions) values ($1, $2, 'root', 'active', $3)
      returning id`,
    parameters([email, passwordHash, [...PERMISSIONS]]),
  );
  const madeId = made.rows[0]?.id ?? 0;
  await keepAdmin(client, madeId);
  return madeId;
}

async function keepAdmin(client: pg.Client, id: number): Promise<void> {
  await client.query(
    `insert into settings (key, value) values ('admin.user', to_jsonb($1::bigint))
      on conflict (key) do update set value = excluded.value`,
    [id],
  );
}

async function ensureToken(client: pg.Client, userId: number, sha256: Buffer): Promise<number> {
  const known = await client.query<{ id: number }>('select id from tokens where sha256 = $1', [sha256]);
  if (known.rows[0]) return known.rows[0].id;
  await client.query(
    'update tokens set revoked_at = now(), updated_at = now() where user_id = $1 and name = $2 and revoked_at is null',
    [userId, INSTALL_TOKEN],
  );
  const made = await client.query<{ id: number }>(
    'insert into tokens (user_id, name, sha256) values ($1, $2, $3) returning id',
    [userId, INSTALL_TOKEN, sha256],
  );
  return made.rows[0]?.id ?? 0;
}
