/** A NATS connection that reconnects indefinitely, with JSON messages. */
import { readFileSync } from 'node:fs';
import {
  type Authenticator,
  credsAuthenticator,
  type Msg,
  type NatsConnection,
  nkeyAuthenticator,
  usernamePasswordAuthenticator,
} from 'nats';
import { within } from '../../base/retry.ts';
import { asBusError, BusError } from './errors.ts';
import { INBOXES } from './permissions.ts';
import { connectNats, type NatsOptions } from './transport.ts';

export type BusStatus = 'connected' | 'disconnected' | 'closed';

export interface BusSettings {
  url: string;
  caFile?: string | undefined;
  /**
   * File with the credentials of a static user, for the API and controllers: the seed of an nkey, the content of a
   * creds file, or `user:password`. Read at each connect.
   */
  credentialsFile?: string | undefined;
  /** Projected token of a pod, for runners. Read at each connect, because the kubelet renews it. */
  tokenFile?: string | undefined;
  /** JWT of a user without rights, sent with the token where the server decides by JWTs who asks for a callout. */
  sentinelJwt?: string | undefined;
  /** Connection name shown by the server's tools. */
  name: string;
  /** The only subjects on which responses may arrive: see permissions.ts. */
  inboxPrefix: string;
  /** One try, and no other connection after this one. Its certificate may have expired. */
  toRenew?: boolean;
  onStatus?: (status: BusStatus) => void;
  /** Errors of single messages and subscriptions; the connection stays up. */
  onError?: (error: BusError) => void;
}

export interface Received<T> {
  subject: string;
  message: T;
}
export interface ServeOptions {
  queue?: string;
  /** Called before the message is parsed; false drops it. */
  admit?: (subject: string) => boolean;
}
export interface Subscribed {
  stop(): void;
  drained(): Promise<void>;
}

// A server that died without closing is detected after two unanswered pings.
const PING_MS = 5_000;

export type Bus = Awaited<ReturnType<typeof connectBus>>;

export async function connectBus(settings: BusSettings) {
  const { onStatus, onError = () => {} } = settings;
  const connection = await open(settings);
  const state = followState(connection, onError);
  onStatus?.('connected');
  if (onStatus) state.onStatus(onStatus);
  return {
    /** For JetStream, and for anything that needs the client itself. */
    connection,
    js: connection.jetstream(),
    ...state,
    ...messaging(connection, state, onError),
    /** Resolves when the server has received everything published before. */
    flush: (): Promise<void> => connection.flush(),
    /** Handles received messages, flushes published ones, then closes. */
    async drain(): Promise<void> {
      // Without a server, the client's drain ends with the connection still open and reconnecting, and the process
      // would not exit.
      if (state.connected()) await connection.drain().catch(() => {});
      if (!connection.isClosed()) await connection.close();
    },
  };
}

type OnError = (error: BusError) => void;

function followState(connection: NatsConnection, onError: OnError) {
  const listeners = new Set<(status: BusStatus) => void>();
  let current: BusStatus = 'connected';
  const become = (status: BusStatus) => {
    if (status === current) return;
    current = status;
    for (const listener of listeners) listener(status);
  };
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') become('disconnected');
      if (status.type === 'reconnect') become('connected');
      if (status.type === 'error')
        onError(
          new BusError(status.data === 'PERMISSIONS_VIOLATION' ? 'refused' : 'failed', `NATS: ${String(status.data)}`),
        );
    }
  })();
  void connection.closed().then(() => become('closed'));

  const connected = (): boolean => current === 'connected';
  /** Called at each change, until the returned function is called. */
  const onStatus = (callback: (status: BusStatus) => void): (() => void) => {
    listeners.add(callback);
    return () => listeners.delete(callback);
  };
  /**
   * Rejects when the connection is lost before the response: the request may be lost, and waiting for the time-out
   * would be pointless.
   */
  const whileConnected = <T>(answer: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const lost = () => reject(new BusError('disconnected', 'the connection to NATS was lost'));
      if (!connected()) lost();
      const forget = onStatus(lost);
      void answer.then(resolve, reject).finally(forget);
    });
  /** Resolves once connected; rejects after the time-out. */
  async function whenConnected(timeoutMs: number): Promise<void> {
    if (connected()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const forget = onStatus((status) => status === 'connected' && resolve());
    const late = (): BusError => new BusError('disconnected', `not connected to NATS within ${timeoutMs} ms`);
    await within(timeoutMs, promise, late).finally(forget);
  }
  return { connected, onStatus, whileConnected, whenConnected };
}

function messaging(
  connection: NatsConnection,
  { whileConnected }: Pick<ReturnType<typeof followState>, 'whileConnected'>,
  onError: OnError,
) {
  /** Fire and forget: buffered while disconnected, lost if the process ends first. */
  function publish(subject: string, message: unknown): void {
    try {
      connection.publish(subject, JSON.stringify(message));
    } catch (error) {
      throw asBusError(error, subject);
    }
  }

  /** Fails immediately while disconnected, and when the connection is lost. */
  async function request<Answer>(subject: string, message: unknown, timeoutMs: number): Promise<Answer> {
    try {
      return decode(await whileConnected(connection.request(subject, JSON.stringify(message), { timeout: timeoutMs })));
    } catch (error) {
      throw asBusError(error, subject);
    }
  }

  /**
   * Calls the handler for each message, without waiting for the previous one, and sends what it returns as the
   * response; undefined: none.
   */
  function serve<T, Answer>(
    subject: string,
    handler: (received: Received<T>) => Answer | undefined | Promise<Answer | undefined>,
    { admit = () => true, ...options }: ServeOptions = {},
  ): Subscribed {
    const handle = async (message: Msg) => {
      const answer = await handler({ subject: message.subject, message: decode(message) });
      // The sender chose the reply subject, and this process may publish where the sender may not. So responses only go
      // to inboxes.
      if (answer !== undefined && message.reply?.startsWith(INBOXES)) message.respond(JSON.stringify(answer));
    };
    const subscription = connection.subscribe(subject, {
      ...options,
      callback: (error, message) => {
        if (error) {
          onError(asBusError(error, subject));
          return;
        }
        if (!admit(message.subject)) return;
        handle(message).catch((failure: unknown) => onError(asBusError(failure, message.subject)));
      },
    });
    return { stop: () => subscription.unsubscribe(), drained: () => subscription.drain() };
  }

  /** Like serve, without responses. */
  const subscribe = <T>(
    subject: string,
    handler: (received: Received<T>) => void | Promise<void>,
    options?: ServeOptions,
  ): Subscribed =>
    serve<T, undefined>(
      subject,
      async (received) => {
        await handler(received);
        return undefined;
      },
      options,
    );

  return { publish, request, serve, subscribe };
}

function open(settings: BusSettings): Promise<NatsConnection> {
  const { url, caFile, tokenFile, name, inboxPrefix, toRenew = false } = settings;
  // After a server restart, runners reconnect last: the controllers must be connected to authenticate them, or each
  // would wait for the server's whole time-out.
  const pause = tokenFile ? 600 : 100;
  const options: NatsOptions = {
    servers: url.split(','),
    name,
    inboxPrefix,
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    // A refusal may be temporary: the controllers may be restarting, or the token may just have been renewed.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: pause,
    reconnectJitter: pause,
    reconnectJitterTLS: pause,
    timeout: 5_000,
    pingInterval: PING_MS,
    maxPingOut: 2,
    // A file name, so that each connect reads the current content.
    ...(caFile ? { tls: { caFile } } : {}),
    ...(toRenew ? { acceptsExpired: true, reconnect: false, waitOnFirstConnect: false } : {}),
  };
  const authenticator = authenticatorOf(settings);
  if (authenticator) options.authenticator = authenticator;
  return connectNats(options);
}

function userOf(content: string): Authenticator {
  // The client finds the seed only if its last line ends.
  if (content.includes('-----BEGIN NATS USER JWT-----'))
    return credsAuthenticator(new TextEncoder().encode(`${content}\n`));
  const [user = '', password] = content.split(/:(.*)/s);
  if (password !== undefined) return usernamePasswordAuthenticator(user, password);
  return nkeyAuthenticator(new TextEncoder().encode(content));
}

function authenticatorOf(settings: BusSettings): Authenticator | undefined {
  const { credentialsFile, tokenFile, sentinelJwt, onError = () => {} } = settings;
  const file = credentialsFile ?? tokenFile;
  if (!file) return undefined;
  return (nonce) => {
    try {
      const content = readFileSync(file, 'utf8').trim();
      if (credentialsFile) return userOf(content)(nonce);
      return { auth_token: content, ...(sentinelJwt ? { jwt: sentinelJwt } : {}) };
    } catch (error) {
      // If this throws, the client closes permanently. Without credentials the server refuses, and the next connect
      // reads the file again.
      onError(new BusError('refused', `${file}: cannot read the NATS credentials`, { cause: error }));
      return undefined;
    }
  };
}

function decode<T>(message: Msg): T {
  try {
    return JSON.parse(new TextDecoder().decode(message.data)) as T;
  } catch (error) {
    throw new BusError('bad-message', `${message.subject}: the message is not valid JSON`, { cause: error });
  }
}
