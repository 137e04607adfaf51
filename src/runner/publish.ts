/** Sends a result until a collector says that it is recorded. JetStream's own acknowledgement says only that it is on its way. */
import { setTimeout as delay } from 'node:timers/promises';
import { headers } from 'nats';
import type { Bus } from '../bus/connect.ts';
import { SUBJECT } from '../bus/messages.ts';
import type { PackedResult } from '../bus/packing.ts';

const PUBLISH_TIMEOUT_MS = 5_000;
/** After a failed attempt; and after one that was stored but not confirmed as collected. */
const PAUSE = { failed: { first: 100, most: 5_000 }, stored: { first: 3_000, most: 30_000 } };

/** Resolves when the signal says that it was collected or given up. */
export async function publishUntilCollected(bus: Bus, result: PackedResult, signal: AbortSignal, onError: (error: unknown) => void): Promise<void> {
  let failed = PAUSE.failed.first;
  let stored = PAUSE.stored.first;
  for (let round = 0; !signal.aborted; round++) {
    let pause: number;
    try {
      await publish(bus, result, round, signal);
      pause = stored;
      stored = Math.min(stored * 2, PAUSE.stored.most);
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      pause = failed;
      failed = Math.min(failed * 2, PAUSE.failed.most);
    }
    // Agents that lost the same server do not all come back at once.
    await delay(pause * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => {});
  }
}

/**
 * The chunks go first, so that a collector that has the header finds them. JetStream drops what it has seen under the same id,
 * also after it was collected: a later round of the header gets another, or a lost `collected` would never be said again.
 */
async function publish(bus: Bus, { header, chunks }: PackedResult, round: number, signal: AbortSignal): Promise<void> {
  const { podUid, job, attempt } = header;
  const send = async (subject: string, id: string, payload: Uint8Array) => {
    const head = headers();
    head.set('Nats-Msg-Id', id);
    await bus.js.publish(subject, payload, { headers: head, timeout: PUBLISH_TIMEOUT_MS });
  };
  for (let first = 0; first < chunks.length && !signal.aborted; first += 4) {
    await Promise.all(chunks.slice(first, first + 4).map((chunk, offset) => send(SUBJECT.chunk(podUid, job, attempt, first + offset), `${job}/${attempt}/${first + offset}`, chunk)));
  }
  if (signal.aborted) return;
  await send(SUBJECT.result(podUid), round === 0 ? `${job}/${attempt}` : `${job}/${attempt}/again-${round}`, Buffer.from(JSON.stringify(header)));
}
