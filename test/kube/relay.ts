/**
 * A TCP relay in front of a server. Counts connections, freezes them silently, cuts them, or cuts them after some
 * bytes.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Relay {
  port: number;
  /** All connections that were ever opened, and those open now. */
  readonly opened: number;
  readonly open: number;
  /** Makes open connections silent, as after a pulled cable. New ones work, unless `newOnes`. */
  freeze(newOnes?: boolean): void;
  thaw(): void;
  /** Reads nothing more from clients, as a server without CPU, until it is turned off. */
  stall(on: boolean): void;
  /** Closes new connections at once. */
  refuse(on: boolean): void;
  cut(): void;
  /** Cuts every connection after this many more bytes towards the client. */
  cutAfter(bytes: number): void;
  close(): Promise<void>;
}

interface Pair {
  client: Socket;
  server: Socket;
  frozen: boolean;
  left: number;
}

export async function startRelay(host: string, port: number): Promise<Relay> {
  const pairs = new Set<Pair>();
  let opened = 0;
  let freezeNew = false;
  let refusing = false;
  const listener = createServer((client) => {
    client.on('error', () => {});
    if (refusing) {
      client.destroy();
      return;
    }
    opened += 1;
    const server = connect(port, host);
    const pair: Pair = { client, server, frozen: freezeNew, left: Infinity };
    pairs.add(pair);
    const drop = () => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    client.setNoDelay(true);
    server.setNoDelay(true);
    client.on('data', (chunk) => {
      if (!pair.frozen) server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (pair.frozen) return;
      if (chunk.length < pair.left) {
        pair.left -= chunk.length;
        client.write(chunk);
        return;
      }
      const last = chunk.subarray(0, pair.left);
      pair.left = 0;
      pair.frozen = true;
      client.write(last, drop);
    });
    for (const socket of [client, server]) {
      socket.on('error', () => {
        if (!pair.frozen) drop();
      });
      socket.on('close', () => {
        if (!pair.frozen) drop();
      });
    }
  });
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve);
  });
  const cut = () => {
    for (const { client, server } of pairs) {
      client.destroy();
      server.destroy();
    }
    pairs.clear();
  };
  return {
    port: (listener.address() as AddressInfo).port,
    get opened() {
      return opened;
    },
    get open() {
      return pairs.size;
    },
    freeze(newOnes = false) {
      freezeNew = newOnes;
      for (const pair of pairs) pair.frozen = true;
    },
    thaw() {
      freezeNew = false;
    },
    stall(on) {
      for (const { client } of pairs) {
        if (on) client.pause();
        else client.resume();
      }
    },
    refuse(on) {
      refusing = on;
    },
    cut,
    cutAfter(bytes) {
      for (const pair of pairs) pair.left = bytes;
    },
    async close() {
      const closed = new Promise((resolve) => {
        listener.close(resolve);
      });
      cut();
      await closed;
    },
  };
}
