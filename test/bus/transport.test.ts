/** A process keeps one connection to NATS through any failed dial, such as a stalled server or a late greeting. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect as connectTcp, createServer } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { ConnectionOptions, NatsConnection } from 'nats';
import { connectNats } from '../../src/platform/bus/transport.ts';
import { type NatsServer, startNats } from '../servers.ts';
import { until } from '../until.ts';
import { countByName, liveConnections } from './connections.ts';

const DIAL_MS = 400;

/** Forwards bytes to the server. While `held` it accepts connections and sends nothing, as a slow listener does. */
async function slowListener(target: number): Promise<{
  port: number;
  hold(): void;
  release(): void;
  waiting(): number;
  open(): number;
  cut(): void;
  stop(): Promise<void>;
}> {
  let held = false;
  const waiting = new Set<() => void>();
  const sockets = new Set<Socket>();
  const listener: Server = createServer((socket) => {
    sockets.add(socket);
    const upstream: { socket?: Socket } = {};
    socket
      .on('error', () => {})
      .on('close', () => {
        sockets.delete(socket);
        waiting.delete(begin);
        upstream.socket?.destroy();
      });
    const begin = (): void => {
      const way = connectTcp(target, '127.0.0.1');
      upstream.socket = way;
      way.on('error', () => {}).on('close', () => socket.destroy());
      socket.pipe(way).pipe(socket);
    };
    if (held) waiting.add(begin);
    else begin();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    hold: () => {
      held = true;
    },
    release() {
      held = false;
      for (const begin of waiting) begin();
      waiting.clear();
    },
    waiting: () => waiting.size,
    open: () => sockets.size,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

describe('bus: one connection per process', function () {
  this.timeout(60_000);
  let server: NatsServer;
  const opened: NatsConnection[] = [];
  const printed: string[] = [];
  const { log } = console;

  before(async () => {
    server = await startNats();
  });
  after(() => server.stop());
  // The client prints what it cannot parse, and continues.
  beforeEach(() => {
    printed.length = 0;
    console.log = (...words: unknown[]) => {
      printed.push(words.map(String).join(' '));
    };
  });
  afterEach(async () => {
    console.log = log;
    await Promise.all(opened.splice(0).map((connection) => connection.close()));
    await until('the server closed all connections', async () => (await liveConnections(server.monitor)).length === 0);
  });

  const open = async (name: string, port: number, change: ConnectionOptions = {}): Promise<NatsConnection> => {
    const connection = await connectNats({
      servers: [`127.0.0.1:${port}`],
      name,
      maxReconnectAttempts: -1,
      waitOnFirstConnect: true,
      reconnectTimeWait: 20,
      reconnectJitter: 10,
      timeout: DIAL_MS,
      pingInterval: 100,
      maxPingOut: 2,
      ...change,
    });
    opened.push(connection);
    return connection;
  };
  const statuses = (connection: NatsConnection): string[] => {
    const heard: string[] = [];
    void (async () => {
      for await (const { type } of connection.status()) heard.push(type);
    })();
    return heard;
  };
  const counted = async (): Promise<Record<string, number>> => countByName(await liveConnections(server.monitor));

  const accepted = async (): Promise<number> =>
    (
      (await (await fetch(`${server.monitor}/varz`, { signal: AbortSignal.timeout(5_000) })).json()) as {
        total_connections: number;
      }
    ).total_connections;

  /** Each of 50 messages to `work` is handled by exactly one subscriber of the queue. */
  async function handledOnce(connections: NatsConnection[]): Promise<void> {
    const handled: string[] = [];
    const subscriptions = connections.map((connection) =>
      connection.subscribe('work', {
        queue: 'q',
        callback: (_, message) => {
          handled.push(message.string());
        },
      }),
    );
    await Promise.all(connections.map((connection) => connection.flush()));
    const wanted = Array.from({ length: 50 }, (_, at) => String(at));
    for (const text of wanted) connections[0]?.publish('work', text);
    await Promise.all(connections.map((connection) => connection.flush()));
    await until('every request was handled', () => handled.length >= wanted.length);
    for (const connection of connections) await connection.flush();
    assert.deepEqual(
      handled.toSorted((a, b) => Number(a) - Number(b)),
      wanted,
    );
    for (const subscription of subscriptions) subscription.unsubscribe();
  }

  it('a dial that timed out stays closed when the listener responds late', async () => {
    const way = await slowListener(server.port);
    try {
      const connection = await open('slow', way.port);
      const heard = statuses(connection);
      way.hold();
      way.cut();
      await until('three dials have timed out', () => heard.filter((type) => type === 'reconnecting').length > 3);
      // The current one, and none of the earlier ones.
      assert.ok(way.open() <= 1, `${way.open()} sockets are open`);
      way.release();
      await until('the connection is restored', () => heard.includes('reconnect'));
      await handledOnce([connection]);
      assert.deepEqual(await counted(), { slow: 1 });
      assert.deepEqual(printed, []);
    } finally {
      await way.stop();
    }
  });

  it('a server that stalls three times keeps one connection per process, and handles each message once', async () => {
    const connections = [await open('first', server.port), await open('second', server.port)];
    const heard = connections.map(statuses);
    const before = await accepted();
    for (let round = 1; round <= 3; round++) {
      const dials = heard.map((types) => types.filter((type) => type === 'reconnecting').length);
      server.freeze();
      try {
        await until('each client has failed to dial three times', () =>
          heard.every((types, at) => types.filter((type) => type === 'reconnecting').length >= (dials[at] ?? 0) + 3),
        );
      } finally {
        server.resume();
      }
      // Abandoned dials are still in the server's queue. Once it has seen them all, none can come back.
      await until(
        'the server has seen every dial',
        async () => (await accepted()) >= before + heard.flat().filter((type) => type === 'reconnecting').length,
      );
      await until('both are back', async () => isDeepStrictEqual(await counted(), { first: 1, second: 1 }));
      await handledOnce(connections);
    }
    assert.deepEqual(printed, []);
  });

  it('a stale connection with a full buffer is abandoned at once', async () => {
    const connection = await open('full', server.port);
    const heard = statuses(connection);
    server.freeze();
    try {
      // Far more than the kernel's buffers hold.
      const megabyte = new Uint8Array(1024 * 1024 - 1_024);
      for (let sent = 0; sent < 32; sent++) connection.publish('bulk', megabyte);
      await until('the client dials again', () => heard.includes('reconnecting'), 5_000);
    } finally {
      server.resume();
    }
    await until('the connection is restored', () => heard.includes('reconnect'));
    await connection.flush();
    await until('the server closed the old connection', async () => isDeepStrictEqual(await counted(), { full: 1 }));
  });

  it('a listener that is not a NATS server fails the dial, and the client dials again', async () => {
    let calls = 0;
    const sockets = new Set<Socket>();
    const listener = createServer((socket) => {
      calls++;
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const way = (listener.address() as AddressInfo).port;
    const connection = await open('wrong', server.port, {
      servers: [`127.0.0.1:${way}`, `127.0.0.1:${server.port}`],
      noRandomize: true,
    });
    assert.ok(calls >= 1);
    assert.equal(connection.getServer(), `127.0.0.1:${server.port}`);
    await until('its socket is closed', () => sockets.size === 0);
    listener.close();
  });

  it('closing ends a dial in progress', async () => {
    const way = await slowListener(server.port);
    try {
      const connection = await open('leaving', way.port);
      const heard = statuses(connection);
      way.hold();
      way.cut();
      await until('the client dials', () => way.waiting() > 0 && heard.includes('reconnecting'));
      await connection.close();
      await until('no socket is left', () => way.open() === 0);
    } finally {
      await way.stop();
    }
  });
});
