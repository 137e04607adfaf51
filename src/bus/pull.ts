/**
 * Pulls messages of a durable consumer, as many as the caller has room for. The client's own `consume` does not fit
 * here: it takes more than was asked for while earlier ones wait, drops what was on its way when it stops (nobody else
 * gets it until its time to acknowledge has run out), and waits for a consumer that was wiped away to come back by
 * itself.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createInbox, type Msg, nanos } from 'nats';
import type { Bus } from './connect.ts';
import { BusError } from './errors.ts';

export interface Pulled {
  subject: string;
  data: Uint8Array;
  /** 1 for the first. */
  deliveries: number;
  ack(): void;
  /** Again, to whoever is free; after a while where one is given. */
  nak(afterMs?: number): void;
  /** Never again. */
  term(): void;
  /** Still at work: starts the time to acknowledge anew. */
  working(): void;
}

export interface PullSettings {
  stream: string;
  consumer: string;
  /** How many more can be taken now; asked before each pull. */
  room: () => number;
  onMessage: (message: Pulled) => void;
  inboxPrefix: string;
}

export interface Pulling {
  /** There is room again. */
  wake(): void;
  /** Rejects when the consumer is gone, silent, or behind a reconnect: the caller makes it sure and starts over. */
  ended: Promise<void>;
  /** Takes no more; resolves when everything that was on its way is here. */
  stop(): Promise<void>;
}

const EXPIRES_MS = 5_000;
const HEARTBEAT_MS = 1_000;
const SILENT_MS = 2.5 * HEARTBEAT_MS;

export function startPulling(bus: Bus, { stream, consumer, room, onMessage, inboxPrefix }: PullSettings): Pulling {
  const inbox = createInbox(inboxPrefix);
  const ending = Promise.withResolvers<void>();
  ending.promise.catch(() => {});
  let outstanding = 0;
  let heard = performance.now();
  let stopping = false;

  const fail = (code: BusError['code'], message: string) =>
    ending.reject(new BusError(code, `pulling from ${stream}: ${message}`));

  const pull = () => {
    if (stopping || outstanding > 0) return;
    outstanding = Math.max(0, room());
    heard = performance.now();
    if (outstanding === 0) return;
    const request = { batch: outstanding, expires: nanos(EXPIRES_MS), idle_heartbeat: nanos(HEARTBEAT_MS) };
    bus.connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), {
      reply: inbox,
    });
  };

  const status = (message: Msg) => {
    const code = message.headers?.code ?? 0;
    const text = message.headers?.description ?? '';
    if (code === 100) return;
    // 404 and 408: nothing (more) within the time. 409 has many meanings; those that end the request are told from
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

  // What was asked for before a reconnect is forgotten by the server; and a server may forget without one.
  const forget = bus.onStatus((now) => {
    if (now === 'connected') fail('disconnected', 'reconnected');
  });
  const silence = setInterval(() => {
    if (outstanding > 0 && bus.connected() && performance.now() - heard > SILENT_MS)
      fail('timeout', 'the server stopped answering');
  }, HEARTBEAT_MS);

  const stop = async () => {
    stopping = true;
    clearInterval(silence);
    forget();
    // Drain: the server stops sending, and what it had sent has come before its answer.
    await Promise.race([subscription.drain().catch(() => {}), delay(SILENT_MS, undefined, { ref: false })]);
    ending.resolve();
  };

  pull();
  return { wake: pull, ended: ending.promise, stop };
}

function pulledFrom(bus: Bus, message: Msg): Pulled {
  const reply = message.reply ?? '';
  const say = (text: string) => {
    // On a closed connection the acknowledgement is lost, and the message comes again: as after any crash.
    if (!bus.connection.isClosed() && !bus.connection.isDraining()) bus.connection.publish(reply, text);
  };
  return {
    // The message's own subject: a pulled one arrives under it, not under the inbox.
    subject: message.subject,
    data: message.data,
    deliveries: deliveriesOf(reply),
    ack: () => say('+ACK'),
    nak: (afterMs) => say(afterMs ? `-NAK ${JSON.stringify({ delay: nanos(afterMs) })}` : '-NAK'),
    term: () => say('+TERM'),
    working: () => say('+WPI'),
  };
}

/** `$JS.ACK.<stream>.<consumer>.<delivered>...`; newer servers put domain and account before the stream. */
export function deliveriesOf(reply: string): number {
  const tokens = reply.split('.');
  return Number(tokens[tokens.length >= 11 ? 6 : 4] ?? 1) || 1;
}
