/**
 * Debian's PgBouncer with the libraries that this machine lacks, unpacked in the cache without installing anything, and
 * run in front of a real PostgreSQL. `node test/store/pgbouncer.ts` fetches it with apt.
 */
import { execFile } from 'node:child_process';
import { chownSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { fetchProgram } from '../debian_program.ts';
import { freePort } from '../free_port.ts';
import { daemon } from '../server_process.ts';
import { postgresUser } from '../servers.ts';

const exec = promisify(execFile);

/** Fetches it if missing. Needs apt and its package lists. */
export const fetchPgbouncer = (): Promise<string> => fetchProgram({ name: 'pgbouncer', program: 'usr/sbin/pgbouncer' });

export interface Pgbouncer {
  url: string;
  version: string;
  stop(): Promise<void>;
}

/** In transaction mode, with few connections to the server, so that sessions are handed from one client to another. */
export async function startPgbouncer(serverPort: number, settings: Record<string, string> = {}): Promise<Pgbouncer> {
  const folder = await fetchPgbouncer();
  const directory = mkdtempSync(join(tmpdir(), 'probeyard-pgbouncer-'));
  // It refuses to run as root, and nobody else may read root's cache.
  cpSync(join(folder, 'usr'), join(directory, 'usr'), { recursive: true, verbatimSymlinks: true });
  const libraries = (await readdir(join(directory, 'usr/lib')))
    .filter((name) => name.endsWith('-linux-gnu'))
    .map((name) => join(directory, 'usr/lib', name));
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(':') };
  const program = join(directory, 'usr/sbin/pgbouncer');
  const { stdout } = await exec(program, ['--version'], { env });
  const user = postgresUser();
  const port = await freePort();
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: '2',
    server_connect_timeout: '2',
    server_login_retry: '1',
    ignore_startup_parameters: 'statement_timeout,options',
    ...settings,
  };
  const file = join(directory, 'pgbouncer.ini');
  writeFileSync(
    file,
    [
      '[databases]',
      `postgres = host=127.0.0.1 port=${serverPort} dbname=postgres user=probeyard`,
      '[pgbouncer]',
      ...Object.entries(lines).map(([name, value]) => `${name} = ${value}`),
      '',
    ].join('\n'),
  );
  if (user.uid !== undefined && user.gid !== undefined)
    for (const path of [directory, file]) chownSync(path, user.uid, user.gid);
  const url = `postgres://probeyard@127.0.0.1:${port}/postgres`;
  const server = daemon(
    program,
    [file],
    user,
    async () => {
      const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
      client.on('error', () => {});
      await client.connect();
      await client.end();
    },
    { env, cwd: directory },
  );
  await server.start();
  return {
    url,
    version: /PgBouncer (\S+)/.exec(stdout)?.[1] ?? 'unknown',
    async stop() {
      await server.end('SIGINT');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

if (import.meta.filename === process.argv[1]) console.log(await fetchPgbouncer());
