/**
 * The operator's events server: a NATS server to which buckets send their events, and another one than that of the bus.
 * It may be away at any time: each connection is a new one, after a pause.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from 'nats';
import { backoff, pause } from '../../base/retry.ts';
import { asBusError, BusError } from './errors.ts';
import { connectNats } from './transport.ts';

export interface EventsServer {
  url: string;
  subject: string;
  /** A mounted Secret: `user` and `password` or `token`, and `ca.crt`. Any may be missing. Read at each connect. */
  folder: string;
  /** Connection name shown by the server's tools. */
  name: string;
}

/** Each message goes to one replica. */
const QUEUE = 'probeyard';

/** `onState`: at each change. Null: it is connected. */
export function followEvents(
  server: EventsServer,
  { onMessage, onState }: { onMessage(data: Uint8Array): void; onState(error: BusError | null): void },
) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pauses = backoff({ first: 500, longest: 30_000 });
  let connection: NatsConnection | undefined;
  let state: BusError | null | undefined;
  const become = (next: BusError | null): void => {
    if (state === undefined || next?.message !== state?.message) onState(next);
    state = next;
  };

  /** Returns why it ended. */
  async function connected(): Promise<unknown> {
    connection = await open(server);
    if (signal.aborted) return undefined;
    let refusal: Error | undefined;
    connection.subscribe(server.subject, {
      queue: QUEUE,
      callback: (error, message) => {
        if (!error) return onMessage(message.data);
        // The connection would stay, and nothing would ever arrive.
        refusal = error;
        void connection?.close();
      },
    });
    // The server answers in order: a refusal comes first.
    await connection.flush().catch(() => {});
    if (!connection.isClosed()) {
      pauses.reset();
      become(null);
    }
    const closed = await connection.closed();
    return refusal ?? closed ?? new BusError('disconnected', 'the server closed the connection');
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const error = await connected().catch((failure: unknown) => failure);
      await connection?.close();
      if (!signal.aborted) become(asBusError(error, server.subject));
      await pause(pauses.next(), signal);
    }
  }

  const running = run();
  return {
    connected: (): boolean => state === null,
    async stop(): Promise<void> {
      stopping.abort();
      await connection?.close();
      await running;
    },
  };
}

function open({ url: servers, folder, name }: EventsServer): Promise<NatsConnection> {
  const caFile = join(folder, 'ca.crt');
  const [user, pass, token] = ['user', 'password', 'token'].map((key) => {
    const file = join(folder, key);
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  });
  // With `tls`, a server without TLS is refused before it is sent anything.
  const tls = existsSync(caFile) ? { caFile } : servers.startsWith('tls:') ? {} : undefined;
  return connectNats({
    servers,
    name,
    reconnect: false,
    timeout: 5_000,
    pingInterval: 5_000,
    maxPingOut: 2,
    ...(token ? { token } : user ? { user, pass: pass ?? '' } : {}),
    ...(tls ? { tls } : {}),
  });
}
