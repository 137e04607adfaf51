/**
 * Real PostgreSQL and nats-server for tests. Each call starts a new server on a port of 127.0.0.1, in a directory that
 * is removed with it.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { childrenOf, hasEnded, signalAll } from './processes.ts';
import { freePort } from './free_port.ts';
import { oncePerRun } from './once_per_run.ts';
import { ServerError, STARTED_WITHIN_MS, daemon, makeDirectory, removeDirectory } from './server_process.ts';
import { until } from './until.ts';

// ---------------------------------------------------------------- PostgreSQL

export interface PostgresServer {
  url: string;
  port: number;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
  /**
   * Stops it as an operator would (`fast`, which rolls back open transactions) or like a crash (`immediate`), and
   * starts it again with the same data.
   */
  restart(how?: 'fast' | 'immediate'): Promise<void>;
  /** Stops it until `restart`. */
  down(how?: 'fast' | 'immediate'): Promise<void>;
  /** Kills all its processes at once (SIGKILL), until `restart`. */
  kill(): Promise<void>;
  /**
   * Pauses all its processes (SIGSTOP) until `resume`. Sockets stay open and the kernel accepts new ones, but nothing
   * is answered.
   */
  freeze(): void;
  resume(): void;
  /** Ends it, and returns the folder of its data, for `kept` of other servers. */
  keep(): Promise<string>;
}

/** The folder of its programs: PROBEYARD_POSTGRES, else the newest that is installed. */
export function postgresDirectory(): string {
  const given = process.env['PROBEYARD_POSTGRES'];
  if (given) return given;
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root)
    ? readdirSync(root).filter((name) => existsSync(join(root, name, 'bin/postgres')))
    : [];
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  if (newest === undefined)
    throw new ServerError(
      'not-installed',
      `no PostgreSQL under ${root}: apt-get install postgresql (Debian), no cluster of it needs to run`,
    );
  return join(root, newest, 'bin');
}

/** PostgreSQL refuses to run as root, so it runs as `postgres` or `nobody` then. */
export function postgresUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const entry = entries.find(([name]) => name === 'postgres') ?? entries.find(([name]) => name === 'nobody');
  return { uid: Number(entry?.[2] ?? 65534), gid: Number(entry?.[3] ?? 65534) };
}

export interface PostgresOptions {
  settings?: Record<string, string>;
  tls?: { certificate: string; key: string };
  /** A standby of the server at this port, with streaming replication. */
  standbyOf?: number;
  /** Data of `keep`, to start with a copy of it. */
  kept?: string;
}

function runAs(user: ReturnType<typeof postgresUser>, cwd: string, [program, ...args]: [string, ...string[]]): void {
  const { status, stderr } = spawnSync(program, args, { ...user, cwd, encoding: 'utf8' });
  if (status !== 0) throw new ServerError('not-started', `${program}: ${stderr}`);
}

/** What initdb makes, for copies, which take a tenth of its time. Segments of 1 MB in place of 16 make them smaller. */
const initialised = (): Promise<string> =>
  oncePerRun('initdb', async (folder) => {
    const user = postgresUser();
    if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
    const form = ['-U', 'probeyard', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--wal-segsize=1', '--no-sync'];
    runAs(user, folder, [join(postgresDirectory(), 'initdb'), '-D', join(folder, 'data'), ...form]);
  });

/** The command that makes the data directory of a server. */
async function dataCommand(data: string, { standbyOf, kept }: PostgresOptions): Promise<[string, ...string[]]> {
  if (standbyOf === undefined) return ['/bin/cp', '-a', kept ?? join(await initialised(), 'data'), data];
  const from = ['-U', 'probeyard', '-h', '127.0.0.1', '-p', `${standbyOf}`, '-R', '-c', 'fast', '--no-sync'];
  return [join(postgresDirectory(), 'pg_basebackup'), '-D', data, ...from];
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const binaries = postgresDirectory();
  const user = postgresUser();
  const directory = makeDirectory('postgres');
  if (user.uid !== undefined && user.gid !== undefined) chownSync(directory, user.uid, user.gid);
  const data = join(directory, 'data');
  runAs(user, directory, await dataCommand(data, options));
  const tls: Record<string, string> = options.tls
    ? { ssl: 'on', ssl_cert_file: join(directory, 'tls.crt'), ssl_key_file: join(directory, 'tls.key') }
    : {};
  if (options.tls) {
    for (const [name, text] of [
      ['tls.crt', options.tls.certificate],
      ['tls.key', options.tls.key],
    ] as const) {
      writeFileSync(join(directory, name), text, { mode: 0o600 });
      if (user.uid !== undefined && user.gid !== undefined) chownSync(join(directory, name), user.uid, user.gid);
    }
  }
  const port = await freePort();
  const url = `postgres://probeyard@127.0.0.1:${port}/postgres`;
  // Without fsync, a crash of the server alone loses nothing that it has acknowledged, because the system keeps
  // running. Without synchronous_commit it would.
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: '200',
    shared_buffers: '32MB',
    // In the data directory, with which it goes where the server is killed.
    dynamic_shared_memory_type: 'mmap',
    ...tls,
    ...options.settings,
  };
  const args = ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const server = daemon(join(binaries, 'postgres'), args, user, async () => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => {});
    await client.connect();
    await client.query('select 1');
    await client.end();
  });
  await server.start();
  const signal = (how: 'fast' | 'immediate') => (how === 'fast' ? 'SIGINT' : 'SIGQUIT');
  return {
    url,
    port,
    async stop() {
      await server.end('SIGQUIT');
      removeDirectory(directory);
    },
    async restart(how = 'fast') {
      await server.end(signal(how));
      await server.start();
    },
    down: (how = 'fast') => server.end(signal(how)),
    async kill() {
      const children = childrenOf(server.pid());
      await server.end('SIGKILL');
      // Each backend is a session of its own, and notices the end of the postmaster only when it is idle.
      signalAll(children, 'SIGKILL');
      // Until then the shared memory is in use, and a new server does not start.
      await until('the backends have ended', () => children.every(hasEnded));
    },
    freeze() {
      // The postmaster first, so that no backend is started meanwhile.
      signalAll([server.pid()], 'SIGSTOP');
      signalAll(childrenOf(server.pid()), 'SIGSTOP');
    },
    resume: () => signalAll([...childrenOf(server.pid()), server.pid()], 'SIGCONT'),
    async keep() {
      await server.end('SIGINT');
      return data;
    },
  };
}

/** The start script of the chart's PostgreSQL image, run with the machine's own binaries. */
export interface PostgresImage {
  port: number;
  /** Its data directory. */
  data: string;
  /** Starts it again, after writing the `passwords` to their files. */
  restart(passwords?: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
}

const ENTRYPOINT = join(import.meta.dirname, '../images/postgres');

export async function startPostgresImage(passwords: Record<string, string>): Promise<PostgresImage> {
  const binaries = postgresDirectory();
  const user = postgresUser();
  const directory = makeDirectory('postgres-image');
  const own = (path: string): string => {
    if (user.uid !== undefined && user.gid !== undefined) chownSync(path, user.uid, user.gid);
    return path;
  };
  own(directory);
  const write = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return own(join(directory, name));
  };
  for (const name of ['entrypoint.sh', 'roles.sql']) write(name, readFileSync(join(ENTRYPOINT, name), 'utf8'));
  for (const [role, password] of Object.entries(passwords)) write(role, `${password}\n`);
  const data = join(directory, 'pgdata');
  const env = {
    PATH: `${binaries}:/usr/bin:/bin`,
    PGDATA: data,
    POSTGRES_USER: 'probeyard',
    POSTGRES_PASSWORD_FILE: join(directory, 'probeyard'),
    POSTGRES_ROLES_SQL: directory,
    POSTGRES_INITDB_ARGS: '--no-sync',
    POSTGRES_ROLES: Object.keys(passwords)
      .filter((role) => role !== 'probeyard')
      .map((role) => `${role}:${join(directory, role)}`)
      .join(' '),
  };
  const port = await freePort();
  const args = [
    join(directory, 'entrypoint.sh'),
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    `port=${port}`,
    '-c',
    `unix_socket_directories=${directory}`,
    '-c',
    'fsync=off',
  ];
  const current = { ...passwords };
  const server = daemon(
    '/bin/sh',
    args,
    user,
    async () => {
      const client = new pg.Client({
        host: '127.0.0.1',
        port,
        user: 'probeyard',
        database: 'probeyard',
        password: current['probeyard'],
        connectionTimeoutMillis: 2_000,
      });
      client.on('error', () => {});
      await client.connect();
      await client.end();
    },
    { env, cwd: directory },
    4 * STARTED_WITHIN_MS,
  );
  await server.start();
  return {
    port,
    data,
    async restart(changed = {}) {
      await server.end('SIGINT');
      Object.assign(current, changed);
      for (const [role, password] of Object.entries(changed)) write(role, `${password}\n`);
      await server.start();
    },
    async stop() {
      await server.end('SIGQUIT');
      removeDirectory(directory);
    },
  };
}

// ---------------------------------------------------------------------- NATS

export interface NatsServer {
  url: string;
  port: number;
  stop(): Promise<void>;
  /** Kills it with SIGKILL, until `restart`. */
  kill(): Promise<void>;
  /** Starts it again on the same port. `wipe` removes everything that JetStream has stored. */
  restart(options?: { wipe?: boolean }): Promise<void>;
  /** Pauses it (SIGSTOP) until `resume`. Sockets stay open and the kernel accepts new ones, but nothing is answered. */
  freeze(): void;
  resume(): void;
  /** Reloads its configuration and certificates (SIGHUP). */
  reload(): void;
  /** Replaces its certificate file, which takes effect with `reload` or a restart. */
  certify(tls: { certificate: string; key: string }): void;
  /** Address of its monitor, for bus/connections.ts. */
  monitor: string;
}

export interface NatsOptions {
  /** Additional configuration of the server. */
  conf?: string;
  tls?: { certificate: string; key: string; ca: string };
  jetstream?: boolean;
}

function natsBinary(): string {
  const given = process.env['PROBEYARD_NATS_SERVER'];
  if (given) return given;
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'probeyard/bin');
  const built = existsSync(cache)
    ? readdirSync(cache)
        .filter((name) => name.startsWith('nats-server-'))
        .sort()
        .toReversed()
    : [];
  const places = [
    ...built.map((name) => join(cache, name, 'nats-server')),
    '/tmp/bin/nats-server',
    ...(process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'nats-server')),
  ];
  const found = places.find((place) => existsSync(place));
  if (found === undefined)
    throw new ServerError(
      'not-installed',
      'no nats-server: `make up` builds one, or name one in PROBEYARD_NATS_SERVER',
    );
  return found;
}

export async function startNats(options: NatsOptions = {}): Promise<NatsServer> {
  const binary = natsBinary();
  const directory = makeDirectory('nats');
  const [port, monitor] = [await freePort(), await freePort()];
  const store = join(directory, 'jetstream');
  const lines = [`listen: "127.0.0.1:${port}"`, `http: "127.0.0.1:${monitor}"`, `server_name: "test-${port}"`];
  if (options.jetstream) lines.push(`jetstream { store_dir: "${store}", max_memory_store: 64MB, max_file_store: 2GB }`);
  if (options.tls) {
    for (const [name, text] of [
      ['tls.crt', options.tls.certificate],
      ['tls.key', options.tls.key],
      ['ca.crt', options.tls.ca],
    ] as const)
      writeFileSync(join(directory, name), text, { mode: 0o600 });
    lines.push(`tls { cert_file: "${join(directory, 'tls.crt')}", key_file: "${join(directory, 'tls.key')}" }`);
  }
  const file = join(directory, 'nats.conf');
  writeFileSync(file, `${lines.join('\n')}\n${options.conf ?? ''}\n`);
  const server = daemon(binary, ['-c', file], {}, () => greeted(port));
  await server.start();
  return {
    url: `${options.tls ? 'tls' : 'nats'}://127.0.0.1:${port}`,
    port,
    monitor: `http://127.0.0.1:${monitor}`,
    freeze: () => void process.kill(server.pid(), 'SIGSTOP'),
    resume: () => void process.kill(server.pid(), 'SIGCONT'),
    reload: () => void process.kill(server.pid(), 'SIGHUP'),
    certify({ certificate, key }) {
      writeFileSync(join(directory, 'tls.crt'), certificate);
      writeFileSync(join(directory, 'tls.key'), key);
    },
    async stop() {
      await server.end('SIGKILL');
      removeDirectory(directory);
    },
    kill: () => server.end('SIGKILL'),
    async restart({ wipe = false } = {}) {
      await server.end(wipe ? 'SIGKILL' : 'SIGTERM');
      if (wipe) rmSync(store, { recursive: true, force: true });
      await server.start();
    },
  };
}

/** A nats-server that is ready sends an INFO line to each client. */
async function greeted(port: number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', timeout: 1_000 });
  try {
    const [first] = (await once(socket, 'data', { signal: AbortSignal.timeout(1_000) })) as [Buffer];
    if (!first.toString().startsWith('INFO ')) throw new Error('another server answers on this port');
  } finally {
    socket.destroy();
  }
}
