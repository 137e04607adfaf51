/** Takes results from JetStream: each goes to one free collector, which acknowledges it once it is recorded. */
import { backoff, pause } from '../../base/retry.ts';
import type { Bus } from './connect.ts';
import { asBusError, BusError } from './errors.ts';
import { type Result, SUBJECT } from './messages.ts';
import { type Pulled, type Pulling, startPulling } from './pull.ts';
import { makeRates, RESULTS } from './rates.ts';
import { managerOf } from './results.ts';
import { ACK_WAIT_MS, ensureStreams, raiseReplicas, type StreamOptions } from './streams.ts';

export interface CollectSettings extends StreamOptions {
  /**
   * Resolves when the result is settled, which acknowledges it. A throw causes redelivery. The runner that the result
   * names was checked against the subject, which the server ties to the pod's identity.
   */
  handle: (result: Result) => Promise<void>;
  /** Maximum number of results processed concurrently. */
  parallel?: number;
  onError?: (error: BusError) => void;
  /** Called once when a runner sends results faster than any genuine one. Its results are dropped meanwhile. */
  onFlood?: (podUid: string) => void;
}

export type Collecting = ReturnType<typeof consumeResults>;

const AGAIN_MS = 1_000;
/** How soon streams get copies on servers that were added, or are back. */
const RAISE_MS = 15_000;
const PAUSES = { first: 100, longest: 2_000 };

/**
 * Collects indefinitely: creates the streams, pulls, and starts over whenever the server restarted, lost its disk, or
 * stopped answering.
 */
export function consumeResults(bus: Bus, settings: CollectSettings) {
  const { onError = () => {}, onFlood = () => {}, parallel = 16 } = settings;
  const stopping = new AbortController();
  const { signal } = stopping;
  const inHand = new Set<Promise<void>>();
  let current: Pulling | undefined;
  let active = false;
  const rates = makeRates(RESULTS);

  /** Checked before parsing. Only the pod itself can publish under its subject, but redeliveries are not its fault. */
  const isFlood = ({ subject, deliveries }: Pulled): boolean => {
    if (deliveries > 1) return false;
    const uid = subject.slice(SUBJECT.result('').length);
    const verdict = rates.take(uid, performance.now());
    if (verdict === 'flood') onFlood(uid);
    return verdict !== 'taken';
  };

  const take = (message: Pulled) => {
    // Delivered while stopping: hand it to another collector at once, instead of after the acknowledgement time-out.
    if (signal.aborted) {
      message.nak();
      return;
    }
    if (isFlood(message)) {
      message.term();
      return;
    }
    const work: Promise<void> = collect(message, settings.handle, onError).finally(() => {
      inHand.delete(work);
      current?.wake();
    });
    inHand.add(work);
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

async function collect(
  message: Pulled,
  handle: CollectSettings['handle'],
  onError: (error: BusError) => void,
): Promise<void> {
  // Prevents redelivery to a second collector while a large result is being processed on a slow disk.
  const keep = setInterval(() => message.working(), ACK_WAIT_MS / 3);
  try {
    const header = headerOf(message);
    if (!header) {
      message.term();
      onError(new BusError('bad-result', `${message.subject}: malformed result`));
      return;
    }
    await handle(header);
    message.ack();
  } catch (error) {
    onError(asBusError(error, message.subject));
    message.nak(AGAIN_MS);
  } finally {
    clearInterval(keep);
  }
}

function headerOf({ subject, data }: Pulled): Result | null {
  try {
    const header = JSON.parse(new TextDecoder().decode(data)) as Result;
    const whole =
      typeof header.job === 'string' &&
      Number.isSafeInteger(header.attempt) &&
      Number.isSafeInteger(header.size) &&
      Number.isSafeInteger(header.chunks) &&
      header.chunks >= 0 &&
      typeof header.sha256 === 'string' &&
      header.encoding === 'zstd' &&
      subject === SUBJECT.result(header.podUid);
    return whole ? header : null;
  } catch {
    return null;
  }
}
