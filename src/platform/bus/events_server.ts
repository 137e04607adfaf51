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

interface Listeners {
  onMessage(data: Uint8Array): void;
  /** Null: it is connected. Otherwise why it is not, at each change. */
  onState(error: BusError | null): void;
}

/** Each message goes to one replica. */
const QUEUE = 'probeyard';
const PAUSES = { first: 500, longest: 30_000 };

export function followEvents(server: EventsServer, { onMessage, onState }: Listeners) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let connection: NatsConnection | undefined;
  /** Null: connected. Undefined: nothing is known yet. */
  let state: BusError | null | undefined;
  const become = (next: BusError | null): void => {
    if (state !== undefined && next?.message === state?.message) return;
    state = next;
    onState(next);
  };

  /** Returns why it ended. */
  async function connected(onSubscribed: () => void): Promise<unknown> {
    connection = await open(server);
    if (signal.aborted) return undefined;
    // Refused: without this the connection would stay, and nothing would ever arrive.
    let refusal: Error | undefined;
    connection.subscribe(server.subject, {
      queue: QUEUE,
      callback: (error, message) => {
        refusal ??= error ?? undefined;
        if (error) void connection?.close();
        else onMessage(message.data);
      },
    });
    // The server answers in order: a refusal comes first.
    await connection.flush().catch(() => {});
    if (!refusal && !connection.isClosed()) onSubscribed();
    const closed = await connection.closed();
    return refusal ?? closed ?? new BusError('disconnected', 'the server closed the connection');
  }

  async function run(): Promise<void> {
    const pauses = backoff(PAUSES);
    while (!signal.aborted) {
      const error = await connected(() => {
        pauses.reset();
        become(null);
      }).catch((failure: unknown) => failure);
      await connection?.close();
      if (signal.aborted) return;
      become(asBusError(error, server.subject));
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

function open({ url, folder, name }: EventsServer): Promise<NatsConnection> {
  const read = (key: string): string | undefined =>
    existsSync(join(folder, key)) ? readFileSync(join(folder, key), 'utf8').trim() : undefined;
  const [user, pass, token] = ['user', 'password', 'token'].map(read);
  const caFile = join(folder, 'ca.crt');
  const hasCa = existsSync(caFile);
  return connectNats({
    servers: url,
    name,
    reconnect: false,
    timeout: 5_000,
    // A server that died without closing is detected after two unanswered pings.
    pingInterval: 5_000,
    maxPingOut: 2,
    ...(token ? { token } : user ? { user, pass: pass ?? '' } : {}),
    // Then a server without TLS is refused, before it is sent anything.
    ...(hasCa ? { tls: { caFile } } : url.startsWith('tls:') ? { tls: {} } : {}),
  });
}
