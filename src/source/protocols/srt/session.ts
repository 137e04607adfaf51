import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { SourceError, unreachable } from '../../error.ts';
import { noConnection } from '../../failures.ts';
import type { SocketContext } from '../protocol.ts';
import type { Session, Sink } from '../stream/live.ts';
import { callSrt, type Call, srtParameters, type SrtParameters } from './call.ts';
import { decryptPayload, openKeys, type Keys } from './keys.ts';
import { PacketOrder, type Loss } from './order.ts';
import { CONTROL, controlPacket, EXTENSION, readPacket, type Control } from './packet.ts';

const ACK_MS = 10;
const KEEP_ALIVE_MS = 1000;
const CALL_WITHIN_MS = 5000;
const WINDOW_PACKETS = 8192;

/**
 * Calls a stream and outputs its data in order. The passphrase stays here: a tool that spoke SRT itself would have to
 * hold it.
 */
export async function openSrt(context: SocketContext, sink: Sink): Promise<Session> {
  const { host, port } = context.place;
  if (context.throughEgress(host))
    throw unreachable('connect', 'SRT does not go through the egress proxy of this installation');
  const [address] = await context.guard.resolveAndCheck(host, port);
  const socket = createSocket({ type: address!.family === 6 ? 'udp6' : 'udp4', recvBufferSize: 4 << 20 });
  // An error can arrive while no call waits for a response.
  socket.on('error', () => {});
  socket.on('message', ({ length }: Buffer) => {
    try {
      context.count.bytes(length);
    } catch (error) {
      socket.emit('error', error);
    }
  });
  try {
    socket.connect(port, address!.address);
    await once(socket, 'connect', { signal: AbortSignal.timeout(CALL_WITHIN_MS) }).catch((cause: unknown) => {
      throw noConnection(cause);
    });
    context.count.request(true);
    const started = performance.now();
    const clock = (): number => Math.round((performance.now() - started) * 1000);
    const parameters = srtParameters(context.source);
    const call = await callSrt(socket, parameters, clock, CALL_WITHIN_MS);
    return new Receiver(socket, call, parameters, clock, sink);
  } catch (error) {
    socket.close();
    throw error;
  }
}

interface Payload {
  seq: number;
  key: number;
  bytes: Buffer;
}

class Receiver implements Session {
  readonly #socket: Socket;
  readonly #call: Call;
  readonly #parameters: SrtParameters;
  readonly #clock: () => number;
  readonly #sink: Sink;
  readonly #order: PacketOrder<Payload>;
  readonly #timers: NodeJS.Timeout[];
  #keys: Keys | undefined;
  #full = false;
  #over = false;
  #begun = false;
  #ackNumber = 0;
  #acked = -1;
  #ackSentAt = new Map<number, number>();
  #rtt = 100_000;
  #gapSince: number | undefined;
  #gapTold = 0;

  constructor(socket: Socket, call: Call, parameters: SrtParameters, clock: () => number, sink: Sink) {
    this.#socket = socket;
    this.#call = call;
    this.#parameters = parameters;
    this.#clock = clock;
    this.#sink = sink;
    this.#keys = call.keys;
    this.#order = new PacketOrder(call.seq);
    socket.on('message', (bytes) => this.#take(bytes));
    socket.on('error', (error) => (error instanceof SourceError ? this.#fail(error) : this.#end()));
    this.#timers = [
      setInterval(() => this.#tick(), ACK_MS),
      setInterval(() => this.#send(CONTROL.keepAlive, {}), KEEP_ALIVE_MS),
    ];
  }

  resume(): void {
    this.#full = false;
  }

  close(): void {
    if (this.#over) return;
    this.#over = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#socket.send(this.#packet(CONTROL.shutdown, { body: Buffer.alloc(4) }), () => this.#socket.close());
  }

  #end(): void {
    if (this.#over) return;
    this.close();
    this.#sink.end();
  }

  #fail(error: SourceError): void {
    if (this.#over) return;
    this.close();
    this.#sink.fail(error);
  }

  #take(bytes: Buffer): void {
    if (this.#over) return;
    const packet = readPacket(bytes);
    if (packet === undefined) return;
    if (packet.kind === 'control') {
      this.#control(packet);
      return;
    }
    const { ready, lost } = this.#order.add(packet.seq, {
      seq: packet.seq,
      key: packet.key,
      bytes: Buffer.from(packet.payload),
    });
    if (lost) this.#tell(lost);
    this.#give(ready);
  }

  #control({ type, subtype, info, body }: Control): void {
    if (type === CONTROL.shutdown) this.#end();
    else if (type === CONTROL.ackAck) {
      const sent = this.#ackSentAt.get(info);
      this.#ackSentAt.delete(info);
      if (sent !== undefined) this.#rtt = Math.round((this.#rtt * 7 + (this.#clock() - sent)) / 8);
    } else if (type === CONTROL.dropRequest && body.length >= 8)
      this.#give(this.#order.skip(body.readUInt32BE(4) & 0x7fffffff));
    else if (type === CONTROL.user && subtype === EXTENSION.keyRequest && this.#call.keyOf !== undefined) {
      const message = Buffer.from(body);
      void openKeys(this.#call.keyOf, message).then((keys) => {
        if (keys === undefined || this.#over) return;
        // The current key stays in use until the sender switches to the other.
        for (const [flag, key] of this.#keys?.byFlag ?? []) if (!keys.byFlag.has(flag)) keys.byFlag.set(flag, key);
        this.#keys = keys;
        this.#send(CONTROL.user, { subtype: EXTENSION.keyResponse, body: message });
      });
    }
  }

  /** Data that arrives while nothing is read is dropped: a live stream does not wait. */
  #give(ready: readonly Payload[]): void {
    if (ready.length === 0) return;
    this.#gapSince = this.#order.waits ? this.#clock() : undefined;
    for (const { seq, key, bytes } of ready) {
      if (this.#over || this.#full) return;
      const plain = key === 0 ? bytes : this.#keys && decryptPayload(this.#keys, key, seq, bytes);
      if (plain === undefined) {
        this.#undecipherable();
        return;
      }
      this.#begun = true;
      if (plain.length > 0 && !this.#sink.data(plain)) this.#full = true;
    }
  }

  #undecipherable(): void {
    if (this.#begun) return;
    this.#fail(
      unreachable('status', 'the stream is encrypted, and the address holds no passphrase that opens it', {
        status: 401,
      }),
    );
  }

  #tick(): void {
    const now = this.#clock();
    if (this.#order.next !== this.#acked) this.#acknowledge(now);
    if (!this.#order.waits) {
      this.#gapSince = undefined;
      return;
    }
    this.#gapSince ??= now;
    const gap = this.#order.missing();
    if (gap && now - this.#gapTold > Math.max(20_000, this.#rtt)) this.#tell(gap);
    if (now - this.#gapSince > this.#parameters.latencyMs * 1000) {
      this.#gapSince = now;
      this.#give(this.#order.skip());
    }
  }

  #acknowledge(now: number): void {
    this.#acked = this.#order.next;
    this.#ackNumber++;
    this.#ackSentAt.set(this.#ackNumber, now);
    if (this.#ackSentAt.size > 256) this.#ackSentAt.delete(this.#ackSentAt.keys().next().value!);
    const body = Buffer.alloc(28);
    [this.#acked, this.#rtt, this.#rtt >> 1, WINDOW_PACKETS, 0, 0, 0].forEach((value, i) =>
      body.writeUInt32BE(value >>> 0, 4 * i),
    );
    this.#send(CONTROL.ack, { info: this.#ackNumber, body });
  }

  #tell({ from, to }: Loss): void {
    this.#gapTold = this.#clock();
    const body = Buffer.alloc(from === to ? 4 : 8);
    body.writeUInt32BE(from === to ? from : (from | 0x80000000) >>> 0, 0);
    if (from !== to) body.writeUInt32BE(to, 4);
    this.#send(CONTROL.nak, { body });
  }

  #packet(type: number, more: { subtype?: number; info?: number; body?: Buffer }): Buffer {
    return controlPacket(type, { ...more, time: this.#clock(), peer: this.#call.peer });
  }

  #send(type: number, more: { subtype?: number; info?: number; body?: Buffer }): void {
    if (!this.#over) this.#socket.send(this.#packet(type, more), () => {});
  }
}
