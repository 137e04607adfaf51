/**
 * Takes results: those that runners offer to one collector at once, and those from JetStream, each of which goes to one
 * free collector, which acknowledges it once it is recorded.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createInbox, type JsMsg, type Msg, nanos } from 'nats';
import { toJsMsg } from 'nats/lib/jetstream/jsmsg.js';
import { isObject } from '../../base/is_object.ts';
import { backoff, pause } from '../../base/retry.ts';
import type { Bus, Received } from './connect.ts';
import { asBusError, BusError } from './errors.ts';
import { type Attempt, type Offered, type Result, STREAM, SUBJECT } from './messages.ts';
import { INBOX } from './permissions.ts';
import { rateLimit, RESULTS } from './rates.ts';
import { managerOf } from './results.ts';
import { ACK_WAIT_MS, ensureStreams, raiseReplicas, type StreamOptions } from './streams.ts';

export interface CollectSettings extends StreamOptions {
  /**
   * Resolves when the result is settled, which acknowledges it. A throw causes redelivery. The runner that the result
   * names was checked against the subject, which the server ties to the pod's identity. `confirm` says to the runner
   * that nobody needs the result any more.
   */
  handle: (result: Result, confirm: () => void) => Promise<void>;
  /** Maximum number of results processed concurrently. */
  parallel?: number;
  onError?: (error: BusError) => void;
  /** Called while a runner sends results faster than any genuine one, as by `rateLimit`. They are dropped meanwhile. */
  onFlood?: (podUid: string) => void;
}

export type Collecting = ReturnType<typeof consumeResults>;

const AGAIN_MS = 1_000;
/** How soon streams get copies on servers that were added, or are back. */
const RAISE_MS = 15_000;
const PAUSES = { first: 100, longest: 2_000 };

/** Checked before parsing. Only the pod itself can publish under its subjects. */
function floodsOf({ onFlood = () => {} }: CollectSettings): (subject: string) => boolean {
  const isTaken = rateLimit(RESULTS, onFlood);
  return (subject) => !isTaken(subject.slice(subject.lastIndexOf('.') + 1));
}

/**
 * Collects indefinitely: creates the streams, pulls, and starts over whenever the server restarted, lost its disk, or
 * stopped answering.
 */
export function consumeResults(bus: Bus, settings: CollectSettings) {
  const { onError = () => {}, parallel = 16 } = settings;
  const stopping = new AbortController();
  const { signal } = stopping;
  const inHand = new Set<Promise<void>>();
  let current: Pulling | undefined;
  let active = false;
  const isFlood = floodsOf(settings);

  const inHandUntil = (work: Promise<unknown>): void => {
    const done: Promise<void> = work.then(() => {
      inHand.delete(done);
      current?.wake();
    });
    inHand.add(done);
  };

  const offers = bus.serve<unknown, Offered>(
    SUBJECT.offers,
    (offer) => {
      if (signal.aborted || inHand.size >= parallel) return { recorded: false };
      const offered = takeOffer(offer, settings.handle, onError);
      inHandUntil(offered);
      return offered;
    },
    { queue: STREAM.consumer, admit: (subject) => !isFlood(subject) },
  );

  const take = (message: JsMsg) => {
    // Delivered while stopping: hand it to another collector at once, instead of after the acknowledgement time-out.
    if (signal.aborted) answer(bus, () => message.nak());
    // Redeliveries are not the fault of the pod.
    else if (!message.redelivered && isFlood(message.subject)) answer(bus, () => message.term());
    else inHandUntil(collect(bus, message, settings.handle, onError));
  };

  const session = async (): Promise<void> => {
    await ensureStreams(await managerOf(bus), settings);
    if (signal.aborted) return;
    const pulling = startPulling(bus, { room: () => parallel - inHand.size, onMessage: take });
    current = pulling;
    active = true;
    void raise(bus, settings);
    const raising = setInterval(() => void raise(bus, settings), RAISE_MS);
    try {
      await pulling.ended;
    } finally {
      clearInterval(raising);
      active = false;
      await pulling.stop();
    }
  };

  const run = (async () => {
    const wait = backoff(PAUSES);
    while (!signal.aborted) {
      const started = performance.now();
      try {
        await session();
      } catch (error) {
        if (!signal.aborted) onError(asBusError(error, 'collecting results'));
      }
      if (performance.now() - started > PAUSES.longest) wait.reset();
      await pause(wait.next(), signal);
    }
    await Promise.allSettled(inHand);
  })();

  return {
    active: (): boolean => active && bus.connected(),
    async stop(): Promise<void> {
      stopping.abort();
      await offers.drained().catch(() => {});
      await current?.stop();
      await run;
    },
  };
}

async function raise(bus: Bus, settings: CollectSettings): Promise<void> {
  try {
    await raiseReplicas(await managerOf(bus), settings);
  } catch (error) {
    settings.onError?.(asBusError(error, 'replicas of streams'));
  }
}

async function takeOffer(
  { subject, message }: Received<unknown>,
  handle: CollectSettings['handle'],
  onError: (error: BusError) => void,
): Promise<Offered> {
  let recorded = false;
  try {
    if (!isResultOn(subject, SUBJECT.offer, message) || message.chunks > 0)
      throw new BusError('bad-result', `${subject}: malformed result`);
    await handle(message, () => (recorded = true));
  } catch (error) {
    onError(asBusError(error, subject));
  }
  return { recorded };
}

async function collect(
  bus: Bus,
  message: JsMsg,
  handle: CollectSettings['handle'],
  onError: (error: BusError) => void,
): Promise<void> {
  // Prevents redelivery to a second collector while a large result is being processed on a slow disk.
  const keep = setInterval(() => answer(bus, () => message.working()), ACK_WAIT_MS / 3);
  try {
    const header = headerOf(message);
    if (!header) {
      answer(bus, () => message.term());
      onError(new BusError('bad-result', `${message.subject}: malformed result`));
      return;
    }
    const { podUid, job, attempt } = header;
    await handle(header, () => bus.publish(SUBJECT.collected(podUid), { job, attempt } satisfies Attempt));
    answer(bus, () => message.ack());
  } catch (error) {
    onError(asBusError(error, message.subject));
    answer(bus, () => message.nak(AGAIN_MS));
  } finally {
    clearInterval(keep);
  }
}

/** On a closed connection the answer is lost and the message is redelivered, as after a crash. */
function answer({ connection }: Bus, say: () => void): void {
  if (!connection.isClosed() && !connection.isDraining()) say();
}

function headerOf({ subject, data }: JsMsg): Result | null {
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(data));
    return isResultOn(subject, SUBJECT.result, header) ? header : null;
  } catch {
    return null;
  }
}

/** A result of the runner that the subject names. */
const isResultOn = (subject: string, of: (runner: string) => string, value: unknown): value is Result =>
  isObject(value) &&
  typeof value['job'] === 'string' &&
  ['attempt', 'size', 'chunks'].every((name) => Number.isSafeInteger(value[name])) &&
  Number(value['chunks']) >= 0 &&
  typeof value['sha256'] === 'string' &&
  value['encoding'] === 'zstd' &&
  subject === of(String(value['podUid']));

// Pulls results from their durable consumer, as many as the caller has room for. The client's own `consume` is
// unsuitable. It takes more than requested while earlier messages wait. It drops messages in flight when it stops,
// which delays them until their acknowledgement time-out. And it waits for a deleted consumer to reappear by itself.

interface PullSettings {
  /** Number of further messages that can be taken; called before each pull. */
  room: () => number;
  onMessage: (message: JsMsg) => void;
}

type Pulling = ReturnType<typeof startPulling>;

const NEXT = `$JS.API.CONSUMER.MSG.NEXT.${STREAM.results}.${STREAM.consumer}`;
const EXPIRES_MS = 5_000;
const HEARTBEAT_MS = 1_000;
const SILENT_MS = 2.5 * HEARTBEAT_MS;

function startPulling(bus: Bus, { room, onMessage }: PullSettings) {
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
      // It has its own subject, not the inbox.
      onMessage(toJsMsg(message));
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
