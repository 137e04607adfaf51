/** A primary and a synchronous standby, and the address behind which an operator or a virtual address keeps them. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { type PostgresOptions, type PostgresServer, startPostgres } from '../servers.ts';
import { until } from '../until.ts';

/** One query on a connection of its own. */
export async function sql<T>({ url }: { url: string }, text: string, values: unknown[] = []): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows as T[];
  } finally {
    await client.end();
  }
}

export interface Pair {
  primary: PostgresServer;
  standby: PostgresServer;
  stop(): Promise<void>;
}

export async function startPair(settings: NonNullable<PostgresOptions['settings']> = {}): Promise<Pair> {
  const primary = await startPostgres({ settings });
  const standby = await startPostgres({ standbyOf: primary.port, settings });
  await sql(primary, `alter system set synchronous_standby_names = '*'`);
  await sql(primary, 'select pg_reload_conf()');
  await until('the standby is synchronous', async () => {
    const [state] = await sql<{ sync_state: string }>(primary, 'select sync_state from pg_stat_replication');
    return state?.sync_state === 'sync';
  });
  return { primary, standby, stop: async () => void (await Promise.all([primary.stop(), standby.stop()])) };
}

export interface Address {
  port: number;
  /** New connections go to the server at this port. */
  leadTo(port: number): void;
  close(): Promise<void>;
}

/** One address that leads to whichever server is the primary; connections that exist stay where they are. */
export async function startAddress(target: number, host = '127.0.0.1'): Promise<Address> {
  const sockets = new Set<Socket>();
  const address = { target };
  const server = createServer((client) => {
    const upstream = connect(address.target, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }).listen(0, host);
  await once(server, 'listening');
  const at = server.address();
  return {
    port: typeof at === 'object' && at ? at.port : 0,
    leadTo: (port: number) => void (address.target = port),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
