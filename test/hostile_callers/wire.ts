/**
 * NATS over TLS in plain lines, as the holder of a pod's token could send them, without a client library that enforces
 * the protocol. Records the server's reply to each, so that a refusal differs from silence.
 */
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

export interface Wire {
  /** Sends lines, and returns the server's replies (errors, messages) up to the point where it has read them all. */
  say(...lines: string[]): Promise<string[]>;
  publish(subject: string, payload: string | Uint8Array, reply?: string): Promise<string[]>;
  /** Everything received since the last call. */
  heard(): string[];
  /** Resolves when the server ends the connection. */
  ended: Promise<void>;
  close(): void;
}

export interface WireOptions {
  host: string;
  port?: number;
  name: string;
  ca: string;
  /** Members of CONNECT, such as `auth_token` and `user`. */ as?: object;
}

const ANSWER_MS = 8_000;

async function secured(host: string, port: number, name: string, ca: string): Promise<TLSSocket> {
  const plain = connectTcp(port, host);
  await once(plain, 'data', { signal: AbortSignal.timeout(ANSWER_MS) });
  const socket = connectTls({ socket: plain, servername: name, ca });
  await once(socket, 'secureConnect', { signal: AbortSignal.timeout(ANSWER_MS) });
  return socket;
}

/** Rejects with the error of the server if it refuses the connection. */
export async function openWire({ host, port = 4222, name, ca, as = {} }: WireOptions): Promise<Wire> {
  const socket = await secured(host, port, name, ca);
  const over = Promise.withResolvers<void>();
  let text = '';
  let lines: string[] = [];
  const seen = { pongs: 0 };
  let wake = () => {};
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    const whole = text.split('\r\n');
    text = whole.pop() ?? '';
    for (const line of whole) {
      if (line === 'PING') socket.write('PONG\r\n');
      else if (line === 'PONG') seen.pongs += 1;
      else if (!line.startsWith('INFO ')) lines.push(line);
    }
    wake();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    over.resolve();
    wake();
  });

  const heard = (): string[] => {
    const all = lines;
    lines = [];
    return all;
  };
  /** The server answers a PING after it has read everything before it. */
  const pinged = async (): Promise<string[]> => {
    const before = seen.pongs;
    socket.write('PING\r\n');
    const deadline = performance.now() + ANSWER_MS;
    while (seen.pongs === before && !socket.destroyed) {
      if (performance.now() > deadline) throw new Error('NATS does not answer');
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return heard();
  };

  const client = { verbose: false, pedantic: false, lang: 'test', version: '1', protocol: 1 };
  const options = { headers: true, no_responders: true, echo: true };
  socket.write(`CONNECT ${JSON.stringify({ ...client, ...options, ...as })}\r\n`);
  const first = await pinged();
  if (socket.destroyed || first.some((line) => line.startsWith('-ERR'))) {
    socket.destroy();
    throw new Error(first.find((line) => line.startsWith('-ERR')) ?? 'the server hung up');
  }
  return {
    heard,
    ended: over.promise,
    async say(...said) {
      for (const line of said) socket.write(`${line}\r\n`);
      return pinged();
    },
    async publish(subject, payload, reply) {
      const bytes = typeof payload === 'string' ? Buffer.from(payload) : Buffer.from(payload);
      socket.write(`PUB ${subject} ${reply === undefined ? '' : `${reply} `}${bytes.length}\r\n`);
      socket.write(bytes);
      socket.write('\r\n');
      return pinged();
    },
    close: () => socket.destroy(),
  };
}
