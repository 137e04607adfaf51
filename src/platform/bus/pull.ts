/**
 * Pulls results from their durable consumer, as many as the caller has room for. The client's own `consume` is
 * unsuitable. It takes more than requested while earlier messages wait. It drops messages in flight when it stops,
 * which delays them until their acknowledgement time-out. And it waits for a deleted consumer to reappear by itself.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createInbox, type Msg, nanos } from 'nats';
import type { Bus } from './connect.ts';
import { BusError } from './errors.ts';
import { STREAM } from './messages.ts';
import { INBOX } from './permissions.ts';

export interface Pulled {
  subject: string;
  data: Uint8Array;
  /** 1 for the first delivery. */
  deliveries: number;
  ack(): void;
  /** Requests redelivery to any collector, optionally after a delay. */
  nak(afterMs?: number): void;
  /** Ends delivery of the message. */
  term(): void;
  /** Extends the acknowledgement time-out. */
  working(): void;
}

interface PullSettings {
  /** Number of further messages that can be taken; called before each pull. */
  room: () => number;
  onMessage: (message: Pulled) => void;
}

export type Pulling = ReturnType<typeof startPulling>;

const NEXT = `$JS.API.CONSUMER.MSG.NEXT.${STREAM.results}.${STREAM.consumer}`;
const EXPIRES_MS = 5_000;
const HEARTBEAT_MS = 1_000;
const SILENT_MS = 2.5 * HEARTBEAT_MS;

export function startPulling(bus: Bus, { room, onMessage }: PullSettings) {
  const inbox = createInbox(INBOX.controller);
  const ending = Promise.withResolvers<void>();
  ending.promise.catch(() => {});
  let outstanding = 0;
  let heard = performance.now();
  let stopping = false;

  const fail = (code: BusError['code'], message: string) =>
    ending.reject(new BusError(code, `pulling from ${STREAM.results}: ${message}`));

  const pull = () => {
    if (stopping || outstanding > 0) return;
    outstanding = Math.max(0, room());
    heard = performance.now();
    if (outstanding === 0) return;
    const request = { batch: outstanding, expires: nanos(EXPIRES_MS), idle_heartbeat: nanos(HEARTBEAT_MS) };
    bus.connection.publish(NEXT, JSON.stringify(request), { reply: inbox });
  };

  const status = (message: Msg) => {
    const code = message.headers?.code ?? 0;
    const text = message.headers?.description ?? '';
    if (code === 100) return;
    // 404 and 408: no (more) messages in time. 409 has many meanings; those that end the request are distinguished from
    // those that end the consumer.
    if (code === 404 || code === 408 || (code === 409 && !/deleted|not found|push based/i.test(text))) {
      outstanding = 0;
      pull();
    } else {
      fail('no-stream', `${code} ${text || 'no responders'}`);
    }
  };

  const subscription = bus.connection.subscribe(inbox, {
    callback: (error, message) => {
      heard = performance.now();
      if (error) {
        fail('refused', error.message);
        return;
      }
      if (message.subject === inbox) {
        status(message);
        return;
      }
      outstanding = Math.max(0, outstanding - 1);
      onMessage(pulledFrom(bus, message));
      pull();
    },
  });

  // The server forgets pull requests at a reconnect, and sometimes without one.
  const forget = bus.onStatus((now) => {
    if (now === 'connected') fail('disconnected', 'reconnected');
  });
  const silence = setInterval(() => {
    if (outstanding > 0 && bus.connected() && performance.now() - heard > SILENT_MS)
      fail('timeout', 'the server stopped answering');
  }, HEARTBEAT_MS);

  /** Takes no more messages; resolves when all messages in flight have arrived. */
  const stop = async (): Promise<void> => {
    stopping = true;
    clearInterval(silence);
    forget();
    // Drain: the server stops sending, and messages already sent arrive before its reply.
    await Promise.race([subscription.drain().catch(() => {}), delay(SILENT_MS, undefined, { ref: false })]);
    ending.resolve();
  };

  pull();
  return {
    /** Signals that there is room again. */
    wake: pull,
    /** Rejects when the consumer is gone or silent, or after a reconnect: the caller recreates it and starts over. */
    ended: ending.promise,
    stop,
  };
}

function pulledFrom(bus: Bus, message: Msg): Pulled {
  const reply = message.reply ?? '';
  const say = (text: string) => {
    // On a closed connection the acknowledgement is lost and the message is redelivered, as after a crash.
    if (!bus.connection.isClosed() && !bus.connection.isDraining()) bus.connection.publish(reply, text);
  };
  return {
    // A pulled message has its own subject, not the inbox.
    subject: message.subject,
    data: message.data,
    deliveries: deliveriesOf(reply),
    ack: () => say('+ACK'),
    nak: (afterMs) => say(afterMs ? `-NAK ${JSON.stringify({ delay: nanos(afterMs) })}` : '-NAK'),
    term: () => say('+TERM'),
    working: () => say('+WPI'),
  };
}

/** `$JS.ACK.<stream>.<consumer>.<delivered>...`; newer servers insert domain and account before the stream. */
export function deliveriesOf(reply: string): number {
  const tokens = reply.split('.');
  return Number(tokens[tokens.length >= 11 ? 6 : 4] ?? 1) || 1;
}
