/**
 * Database privileges of the API and the controller, if they sign in with roles of their own. Privileges are only ever
 * added: during an upgrade the migration of an older version may run after that of a newer one. They are granted by the
 * owner of the tables, which runs the migrations.
 */
import type pg from 'pg';
import { StoreError } from './errors.ts';
import { raw, sql } from './query.ts';

export type Part = 'api' | 'controller';
/** Role names. The owner's own name means no grants, because the owner may do everything. */
export type Roles = Record<Part, string>;

type Privilege = 'select' | 'insert' | 'update' | 'delete';
interface Rights {
  tables: Record<string, Privilege[]>;
  /** Tables that are readable except for these columns. */
  hidden: Record<string, string[]>;
  sequences: string[];
  /** Functions that are not executable by default. */
  functions: string[];
}

const READ: Privilege[] = ['select'];
const WRITE: Privilege[] = ['select', 'insert', 'update'];
const ALL: Privilege[] = ['select', 'insert', 'update', 'delete'];

export const RIGHTS: Record<Part, Rights> = {
  api: {
    tables: {
      users: ALL,
      tokens: WRITE,
      sessions: ALL,
      identities: ALL,
      report_links: ALL,
      signing_keys: ALL,
      account_codes: ALL,
      mails: ALL,
      attempts: ALL,
      audit: ['select', 'insert'],
      rate_limits: ALL,
      idempotency: ALL,
      webhook_outbox: WRITE,
      // delete: the call that opens a request over its quota removes it again.
      requests: ALL,
      envelopes: ['select', 'insert'],
      cached_results: WRITE,
      usage_minute: WRITE,
      rollup_minute: READ,
      rollup_hour: READ,
      rollup_day: READ,
      erased_shares: READ,
      settings: READ,
      policy_accounts: WRITE,
      policy_documents: ALL,
      policies: ALL,
      former_policies: ALL,
      batches: WRITE,
      batch_items: WRITE,
      batch_driver: ['select', 'update'],
      // update: a call that finds its row.
      followed_objects: ALL,
      sources: ALL,
      source_objects: ALL,
      waivers: ALL,
    },
    hidden: {},
    sequences: ['tokens_id_seq'],
    functions: [
      'erase_user(bigint)',
      'erase_step(bigint, integer)',
      'erase_request(uuid, timestamptz, bigint[])',
      'return_items(uuid[], timestamptz, integer)',
      'open_of_chunk(uuid[], timestamptz)',
      'drop_source_listing(uuid, uuid)',
    ],
  },
  controller: {
    tables: {
      rate_limits: ALL,
      idempotency: ALL,
      requests: ALL,
      envelopes: ['select', 'insert'],
      cached_results: ALL,
      usage_minute: ALL,
      rollup_minute: WRITE,
      rollup_hour: WRITE,
      rollup_day: WRITE,
      settings: READ,
      erasures: READ,
      webhook_outbox: ['select', 'insert', 'delete'],
      policy_accounts: WRITE,
      policy_documents: ALL,
      policies: ALL,
      former_policies: ALL,
    },
    // The owner and permissions of a token, but nothing that could be used to sign in.
    hidden: {
      users: ['password_hash', 'email', 'additional_emails', 'first_name', 'last_name'],
      tokens: ['sha256', 'sealed', 'webhook_secret'],
    },
    sequences: [],
    functions: [
      'ensure_partitions(integer)',
      'drop_envelopes(timestamptz)',
      'drop_months(text, timestamptz)',
      'erase_step(bigint, integer)',
      'forget_audit(timestamptz, integer)',
      'return_items(uuid[], timestamptz, integer)',
      'open_of_chunk(uuid[], timestamptz)',
    ],
  },
};

async function missing(client: pg.Client, role: string, schema: string, rights: Rights): Promise<string[]> {
  const wanted = [
    ['schema', schema, 'usage'] as const,
    ...Object.entries(rights.tables).flatMap(([table, privileges]) =>
      privileges.map((right) => ['table', table, right] as const),
    ),
    ...rights.sequences.map((name) => ['sequence', name, 'usage'] as const),
    ...rights.functions.map((name) => ['function', name, 'execute'] as const),
  ];
  const statements: string[] = [];
  for (const [kind, name, right] of wanted) {
    const object = kind === 'function' ? name : client.escapeIdentifier(name);
    // The name of a schema is looked up as it is, others are parsed.
    const looked = kind === 'schema' ? name : object;
    const { rows } = await client.query<{ has: boolean }>(sql`
      select ${raw(`has_${kind}_privilege`)}(${role}, ${looked}, ${right}) has`);
    if (!rows[0]?.has) statements.push(`grant ${right} on ${kind} ${object} to ${client.escapeIdentifier(role)}`);
  }
  for (const [table, columns] of Object.entries(rights.hidden)) {
    const { rows } = await client.query<{ name: string }>(sql`
      select attname name from pg_attribute
        where attrelid = quote_ident(${table})::regclass and attnum > 0 and not attisdropped
          and attname <> all(${columns}) and not has_column_privilege(${role}, attrelid, attnum, 'select')`);
    if (rows.length > 0)
      statements.push(
        `grant select (${rows.map(({ name }) => client.escapeIdentifier(name)).join(', ')})
          on table ${client.escapeIdentifier(table)} to ${client.escapeIdentifier(role)}`,
      );
  }
  return statements;
}

/** Returns how many grants were missing. Called under the migration lock. */
export async function grantRights(client: pg.Client, roles: Roles): Promise<number> {
  const {
    rows: [owner],
  } = await client.query<{ name: string; schema: string }>('select current_user as name, current_schema() as schema');
  let given = 0;
  for (const [part, role] of Object.entries(roles) as [Part, string][]) {
    if (role === owner?.name) continue;
    const { rows } = await client.query(sql`select from pg_roles where rolname = ${role}`);
    // The bundled Postgres creates its roles at start, and an upgrade may run before that.
    if (rows.length === 0)
      throw new StoreError(
        'not-ready',
        `the database has no role ${role}, which the ${part} signs in as: ` +
          'see docs/operating/databases.md for the roles that it needs',
      );
    const statements = await missing(client, role, owner?.schema ?? 'public', RIGHTS[part]);
    if (statements.length === 0) continue;
    await client.query('begin');
    try {
      for (const statement of statements) await client.query(statement);
      await client.query('commit');
    } catch (error) {
      await client.query('rollback').catch(() => {});
      throw error;
    }
    given += statements.length;
  }
  return given;
}
