/**
 * A migrated database with an administrator, a user with a token, and an open store. As in an installation, neither the
 * owner nor the roles of API and controllers are superusers, and each call of the store runs as the role that makes it
 * in production.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { bootstrapAdmin } from '../../src/platform/store/admin.ts';
import { migrate } from '../../src/platform/store/migrate.ts';
import type { CloseInput, OpenInput } from '../../src/platform/store/records.ts';
import { openStore, type Store, type StoreSettings } from '../../src/platform/store/store.ts';
import { atEnd } from '../at_end.ts';
import { oncePerRun } from '../once_per_run.ts';
import { type PostgresServer, startPostgres } from '../servers.ts';

export const ADMIN = { email: 'admin@example.org', password: 'a good password', token: 'A'.repeat(64) };
export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

export interface StoreFixture {
  server: PostgresServer;
  store: Store;
  urls: Record<'owner' | 'api' | 'controller', string>;
  admin: { userId: number; tokenId: number };
  sql: <T = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<T[]>;
  /** Gives jobs and objects without a token of their own this one. */
  makeDefault: (tokenId: number) => Promise<void>;
  close(): Promise<void>;
}

/** The data of a migrated server, and its administrator: a copy takes a tenth of the time that making them takes. */
async function migrated(folder: string): Promise<void> {
  const server = await startPostgres();
  await makeRoles(server);
  const url = urlAs(server, 'py_owner');
  await migrate({ url, roles: { api: 'py_api', controller: 'py_controller' } });
  const admin = await bootstrapAdmin({ url }, ADMIN);
  renameSync(await server.keep(), join(folder, 'data'));
  writeFileSync(join(folder, 'admin.json'), JSON.stringify(admin));
}

/** The migrated server that the databases of a process share, but for those of tests that stop it. */
let shared: Promise<PostgresServer> | undefined;
let databases = 0;

const dataFolder = (): Promise<string> => oncePerRun('migrated', migrated);
const startMigrated = async (): Promise<PostgresServer> => startPostgres({ kept: join(await dataFolder(), 'data') });

atEnd(async () => {
  const started = await shared;
  shared = undefined;
  await started?.stop();
});

async function asSuperuser({ url }: { url: string }, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace(/\w+$/, 'template1') });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

export interface FixtureSettings extends Partial<StoreSettings> {
  /** On a server of its own, for tests that stop it, or change what all of its databases share. */
  alone?: boolean;
}

const refuse = (): never => {
  throw new Error('a test that stops PostgreSQL starts it by startStore({ alone: true })');
};

/** A database of its own in the shared server: a fifth of the CPU of another server. */
async function startDatabase(): Promise<PostgresServer> {
  const server = await (shared ??= startMigrated());
  const name = `test_${++databases}`;
  await asSuperuser(
    server,
    `create database ${name} template postgres strategy file_copy owner py_owner`,
    ownerOf(name),
  );
  return {
    url: server.url.replace(/\w+$/, name),
    port: server.port,
    stop: () => asSuperuser(server, `drop database ${name} with (force)`),
    restart: refuse,
    down: refuse,
    kill: refuse,
    freeze: refuse,
    resume: refuse,
    keep: refuse,
  };
}

export async function startStore({ alone = false, ...settings }: FixtureSettings = {}): Promise<StoreFixture> {
  const admin = JSON.parse(readFileSync(join(await dataFolder(), 'admin.json'), 'utf8')) as StoreFixture['admin'];
  const server = await (alone ? startMigrated() : startDatabase());
  const urls = {
    owner: urlAs(server, 'py_owner'),
    api: urlAs(server, 'py_api'),
    controller: urlAs(server, 'py_controller'),
  };
  const stores = await Promise.all([
    openStore({ url: urls.api, ...settings }),
    openStore({ url: urls.controller, ...settings }),
  ]);
  const store = byRole(...stores);
  const pool = new pg.Pool({ connectionString: server.url, max: 4 });
  // A connection that the server ends is replaced by the next query.
  pool.on('error', () => {});
  return {
    server,
    store,
    urls,
    admin,
    sql: async <T>(text: string, values: unknown[] = []) => (await pool.query(text, values)).rows as T[],
    async makeDefault(tokenId) {
      await pool.query('update tokens set is_default = false where is_default');
      await pool.query('update tokens set is_default = true where id = $1', [tokenId]);
    },
    async close() {
      await Promise.all([...stores.map((one) => one.close()), pool.end()]);
      await server.stop();
    },
  };
}

const urlAs = (server: PostgresServer, role: string): string => server.url.replace('//probeyard@', `//${role}@`);

/** A table that a test creates belongs to the owner. */
const ownerOf = (database: string): string => `alter role probeyard in database ${database} set role py_owner`;

async function makeRoles(server: PostgresServer): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  for (const role of ['py_owner', 'py_api', 'py_controller']) await client.query(`create role ${role} login`);
  await client.query('alter database postgres owner to py_owner');
  // For tests that terminate a session of the product.
  await client.query('grant pg_signal_backend, pg_monitor to py_owner');
  await client.query(ownerOf('postgres'));
  await client.end();
}

/** Calls of controllers only. */
const OF_CONTROLLERS: ReadonlySet<string> = new Set<keyof Store>([
  'defaultToken',
  'ensurePartitions',
  'eraseMore',
  'foldUsage',
  'forgetAudit',
  'forgetCached',
  'forgetExpired',
  'forgetPolicyDocuments',
  'decodableSeconds',
  'forgetWebhooks',
  'openRows',
  'policyDocument',
  'retain',
  'tokenEvenRevoked',
  'tokenLimits',
  'tokenOfAccount',
]);

const byRole = (api: Store, controller: Store): Store =>
  new Proxy(api, {
    get: (_, name: keyof Store) => Reflect.get(OF_CONTROLLERS.has(name) ? controller : api, name) as unknown,
  });

export function anOpenInput(store: Store, change: Partial<OpenInput> = {}): OpenInput {
  return {
    ...store.newRequest(),
    tokenId: 1,
    userId: 1,
    kind: 'file',
    display: 'https://example.org/a.mp4',
    scheme: 'https',
    request: { ffprobe: { version: 'latest' } },
    tools: [{ name: 'ffprobe', version: '7.0' }],
    queueTimeoutMs: 60_000,
    timeoutMs: 65_000,
    waiter: 'api-1',
    webhookUrl: null,
    idempotency: null,
    requestsPerMinute: 0,
    ...change,
  };
}

export function aCloseInput(open: Pick<OpenInput, 'id' | 'submittedAt'>, change: Partial<CloseInput> = {}): CloseInput {
  return {
    id: open.id,
    submittedAt: open.submittedAt,
    state: 'success',
    status: 200,
    reason: 'Completed',
    error: null,
    attempt: 1,
    startedAt: new Date(open.submittedAt.getTime() + 7),
    tools: [
      { name: 'ffprobe', version: '7.0', success: true, durationMs: 31, usageMs: 30 },
      { name: 'mediainfo', version: '24.06', success: false, durationMs: 12, usageMs: 11 },
    ],
    ioBytes: 1000,
    body: randomBytes(300),
    ...change,
  };
}
