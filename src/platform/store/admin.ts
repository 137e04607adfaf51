/**
 * The first administrator with its token, and the token of jobs created with kubectl. Both are created at installation
 * and looked up at every start.
 */
import { type ConnectionSettings, openDatabase, type Queries } from './connection.ts';
import { StoreError } from './errors.ts';
import { hashPassword, verifyPassword } from './password.ts';
import { PERMISSIONS } from './permissions.ts';
import { query } from './query.ts';
import { endSessions } from './sessions.ts';
import { isToken, tokenSha256 } from './token_text.ts';
import { passwordHash, setPassword } from './users.ts';

export interface AdminInput {
  email: string;
  password?: string | undefined;
  token: string;
}

const INSTALL_TOKEN = 'install';
const DEFAULT_TOKEN = 'kubectl';

async function inTransaction<T>(
  settings: ConnectionSettings,
  name: string,
  work: (queries: Queries) => Promise<T>,
): Promise<T> {
  // Each statement runs once, and the setting of the installation is not known here.
  const database = openDatabase({ ...settings, poolSize: 1, prepared: false });
  try {
    return await database.transaction(name, work);
  } finally {
    await database.end();
  }
}

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
  const password = input.password ? await hashPassword(input.password) : null;
  const session = { ...settings, name: 'probeyard-migrate' };
  return inTransaction(session, 'bootstrap of the administrator', async (queries) => {
    await queries.run(query('lock_admin')`select pg_advisory_xact_lock(hashtext('probeyard.admin'))`);
    const userId = await ensureUser(queries, input.email, password);
    const tokenId = await ensureToken(queries, userId, tokenSha256(input.token));
    await queries.run(query('ensure_default_token')`
      insert into tokens (user_id, name, is_default, permissions)
        select ${userId}, ${DEFAULT_TOKEN}, true, '{write:media,read:media}'
        where not exists (select from tokens where is_default)`);
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
  const hash = await hashPassword(password);
  const session = { ...settings, name: 'probeyard-rotate' };
  await inTransaction(session, 'password of the administrator', async (queries) => {
    const stored = await passwordHash(queries, userId);
    // It takes 40 ms, and nobody else waits for this connection.
    if (!(await verifyPassword(known, stored ?? ''))) return;
    await setPassword(queries, userId, hash);
    await endSessions(queries, userId);
  });
}

async function ensureUser(queries: Queries, email: string, password: string | null): Promise<number> {
  // The recorded id comes first: a changed address in the secret then renames the administrator and does not create a
  // second one.
  const known = await queries.valueOrNull<number>(query('find_admin')`
    select u.id from users u where u.id = (select (value #>> '{}')::bigint from settings where key = 'admin.user')
      or lower(u.email) = lower(${email}) order by u.role = 'root' desc, u.id limit 1`);
  const permissions = [...PERMISSIONS];
  const id =
    known ??
    (await queries.value<number>(query('make_admin')`
      insert into users (email, password_hash, role, status, permissions)
        values (${email}, ${password}, 'root', 'active', ${permissions}) returning id`));
  await queries.run(query('keep_admin')`
    insert into settings (key, value) values ('admin.user', to_jsonb(${id}::bigint))
      on conflict (key) do update set value = excluded.value`);
  await queries.run(query('restore_admin')`
    update users set email = ${email}, password_hash = coalesce(password_hash, ${password}), role = 'root',
      status = 'active', permissions = ${permissions}, updated_at = now()
      where id = ${id} and (email, role, status, permissions) is distinct from
          (${email}, 'root', 'active', ${permissions}::text[])
        or id = ${id} and password_hash is null and ${password}::text is not null`);
  return id;
}

async function ensureToken(queries: Queries, userId: number, sha256: Buffer): Promise<number> {
  const known = await queries.valueOrNull<number>(query('find_admin_token')`
    select id from tokens where sha256 = ${sha256}`);
  if (known !== null) return known;
  await queries.run(query('replace_admin_token')`
    update tokens set revoked_at = now(), updated_at = now()
      where user_id = ${userId} and name = ${INSTALL_TOKEN} and revoked_at is null`);
  return queries.value<number>(query('make_admin_token')`
    insert into tokens (user_id, name, sha256) values (${userId}, ${INSTALL_TOKEN}, ${sha256}) returning id`);
}
