/**
 * Delivers webhooks from the outbox, on every API replica. Not on the controllers, because a process that connects to
 * callers' addresses should not hold the keys that open sources. A row is claimed under a lease longer than any
 * attempt, so another replica takes over after a crash. An attempt counts from the claim: an expired lease is a failed
 * attempt of the schedule.
 */
import { randomUUID } from 'node:crypto';
import { LiftError } from '../result/lift.ts';
import { OverBudget, type MemoryBudget } from '../result/memory_budget.ts';
import { openResult } from '../result/open_result.ts';
import { hasEnvelope } from '../result/answer.ts';
import { keptTrace, readKeptRequest } from '../result/kept_request.ts';
import { type Logger, requestFields } from '../../base/log.ts';
import { trustedContext } from '../../source/http/connect.ts';
import { egressRoute, type Egress } from '../../source/http/egress.ts';
import { makeGuard, type Lookup } from '../../source/address/guard.ts';
import type { SourceException } from '../../base/source_settings.ts';
import type { Store } from '../../platform/store/store.ts';
import { traceWebhook } from '../../platform/tracing/job_trace.ts';
import type { Tracer } from '../../platform/tracing/tracer.ts';
import type { DueWebhook } from '../../platform/store/webhooks.ts';
import { webhookBody } from './body.ts';
import type { WebhookMetrics } from './metrics.ts';
import { verdictOf, type Verdict } from './schedule.ts';
import { send, type Sent } from './send.ts';
import { signedHeaders } from './sign.ts';

export interface DeliverySettings {
  /** Private receivers. */
  allow: readonly SourceException[];
  denyCidrs: readonly string[];
  egress?: Egress | undefined;
  /** Certificates (PEM) to trust in addition to Node's own. */
  ca?: string | undefined;
  lookup?: Lookup;
  timeoutMs?: number;
  /** Concurrent deliveries, in total and per account: silent receivers must not delay the others. */
  atOnce?: number;
  perAccount?: number;
  /** Makes the signing secret of a token that has none, and returns it as it is stored. Null: the token is gone. */
  makeSecret: (tokenId: number) => Promise<Buffer | null>;
  /** Decrypts the stored signing secret of a token. */
  openSecret: (kept: Buffer, tokenId: number) => Buffer | Promise<Buffer>;
  /** Decrypts the stored address. */
  openUrl: (kept: string, requestId: string) => Promise<string>;
}

export interface DeliveryDeps {
  store: Pick<
    Store,
    | 'claimWebhooks'
    | 'nextWebhookInMs'
    | 'recordWebhook'
    | 'releaseWebhook'
    | 'listenWebhooks'
    | 'readRequest'
    | 'readBody'
    | 'readBodySlices'
    | 'clock'
  >;
  memory: MemoryBudget;
  log: Logger;
  metrics: WebhookMetrics;
  tracer?: Tracer | undefined;
  settings: DeliverySettings;
}

export interface Delivery {
  inHand(): number;
  stop(): Promise<void>;
}

const TIMEOUT_MS = 15_000;
/** Longer than reading, assembling and sending can take. */
const LEASE_SLACK_MS = 30_000;
/** Polling interval, because a notification may be lost. */
const LONGEST_SLEEP_MS = 10_000;
const AFTER_FAILURE_MS = 1_000;
/** The replica that claimed the webhook ended before it recorded the outcome. */
const LOST = { status: null, error: 'the attempt was interrupted', durationMs: 0 } as const;
const GONE = { status: null, error: 'the request or its token was deleted', durationMs: 0 } as const;
/** The key may become available again: the schedule decides, as for a failing receiver. */
const SEALED = {
  status: null,
  error: 'the signing secret or the address cannot be decrypted',
  durationMs: 0,
} as const;
const UNREADABLE = { status: null, error: 'the result cannot be read', durationMs: 0 } as const;

class CannotDecrypt extends Error {}

/** Keeps the decryption error as the cause. */
const decrypted = async <T>(what: string, opening: () => T | Promise<T>): Promise<T> => {
  try {
    return await opening();
  } catch (cause) {
    throw new CannotDecrypt(`cannot decrypt ${what} of a webhook`, { cause });
  }
};

export function startDelivery({ store, memory, log, metrics, tracer, settings }: DeliveryDeps): Delivery {
  const { timeoutMs = TIMEOUT_MS, atOnce = 32, perAccount = 8, makeSecret, openSecret, openUrl } = settings;
  const holder = randomUUID();
  const context = trustedContext(settings.ca);
  const egress = settings.egress === undefined ? undefined : egressRoute(settings.egress);
  const busy = new Map<number, number>();
  const inHand = new Set<Promise<void>>();
  const stopping = new AbortController();
  let wake = (): void => {};
  let woken = false;

  const rouse = (): void => {
    woken = true;
    wake();
  };

  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      if (woken || stopping.signal.aborted) return resolve();
      const timer = setTimeout(resolve, ms);
      timer.unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  /** The body to send, and a function that releases its memory. */
  async function messageOf(
    webhook: DueWebhook,
  ): Promise<{ body: Buffer; trace: string | undefined; release(): void } | null> {
    const record = await store.readRequest(webhook.requestId);
    // The user was deleted with all their data.
    if (!record || record.state === 'open') return null;
    const { id, submittedAt, inflatedBytes } = record;
    const ended = {
      requestId: id,
      queueTimeMs: record.queueTimeMs ?? 0,
      ioBytes: record.ioBytes,
      endedAt: record.endedAt ?? submittedAt,
      reason: record.reason ?? ('InternalError' as const),
      error: record.error,
    };
    const stored = hasEnvelope(record)
      ? await openResult({ store, memory }, { id, submittedAt, inflatedBytes }, webhook.account, stopping.signal)
      : null;
    const release = (): void => stored?.place.release();
    try {
      const body = await webhookBody(ended, stored, readKeptRequest(record).response);
      // A streamed result leaves only this body of a kilobyte.
      if (stored && !Buffer.isBuffer(stored.packed)) release();
      return { body, trace: keptTrace(record.request), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Null: there is nothing left to send. */
  async function attempt(webhook: DueWebhook): Promise<Sent | null> {
    if (webhook.tokenGone) return null;
    // A token of an older version may have none.
    const kept = webhook.secret ?? (await makeSecret(webhook.tokenId));
    if (!kept) return null;
    const secret = await decrypted('the signing secret', () => openSecret(kept, webhook.tokenId));
    const url = await decrypted('the address', () => openUrl(webhook.url, webhook.requestId));
    const message = await messageOf(webhook);
    if (!message) return null;
    const { body, release } = message;
    const trace = traceWebhook(
      tracer,
      { parent: message.trace, requestId: webhook.requestId, attempt: webhook.step + 1 },
      store.clock.now,
    );
    try {
      const at = new Date(store.clock.now());
      const headers = {
        ...signedHeaders(secret, { id: webhook.id, at, body }),
        ...(trace ? { traceparent: trace.traceparent } : {}),
      };
      const guard = makeGuard({
        allow: settings.allow,
        denyExtra: settings.denyCidrs,
        ...(settings.lookup ? { lookup: settings.lookup } : {}),
      });
      const connect = { guard, verify: true, context, egress, timeoutMs };
      const sent = await send({ url, headers, body }, connect, timeoutMs);
      trace?.end(sent.status);
      return sent;
    } finally {
      release();
    }
  }

  /** The outcome of an attempt, and the verdict on the webhook. */
  async function resultOf(webhook: DueWebhook): Promise<{ sent: Sent; verdict: Verdict }> {
    const judged = (sent: Sent) => ({ sent, verdict: verdictOf(sent, webhook.step, store.clock.now()) });
    // Counted as an attempt: a webhook that crashes its replica is not repeated forever, and not immediately.
    if (webhook.lost) return judged(LOST);
    try {
      const sent = await attempt(webhook);
      return sent ? judged(sent) : { sent: GONE, verdict: { state: 'failed' } };
    } catch (error) {
      if (error instanceof CannotDecrypt) {
        log.error(
          { err: error, webhook: webhook.id, ...requestFields({ id: webhook.requestId }) },
          'cannot decrypt a webhook',
        );
        return judged(SEALED);
      }
      if (!(error instanceof LiftError)) throw error;
      log.error(
        { err: error, webhook: webhook.id, ...requestFields({ id: webhook.requestId }) },
        'cannot read a stored result',
      );
      return { sent: UNREADABLE, verdict: { state: 'failed' } };
    }
  }

  async function deliver(webhook: DueWebhook): Promise<void> {
    const { id, requestId, step } = webhook;
    const began = new Date(store.clock.now());
    const {
      sent: { status, error, durationMs },
      verdict,
    } = await resultOf(webhook);
    const counted = await store.recordWebhook(
      id,
      holder,
      { at: began.toISOString(), status, ...(error === undefined ? {} : { error }), durationMs },
      verdict,
    );
    metrics.attempted(counted ? verdict.state : 'late', durationMs);
    log.info(
      {
        webhook: id,
        ...requestFields({ id: requestId }),
        step,
        status,
        state: verdict.state,
        ms: durationMs,
        ...(counted ? {} : { late: true }),
      },
      'webhook sent',
    );
  }

  function take(webhook: DueWebhook): void {
    busy.set(webhook.account, (busy.get(webhook.account) ?? 0) + 1);
    const work: Promise<void> = deliver(webhook)
      .catch(async (failure: unknown) => {
        // The fault is ours, not the receiver's: it uses up no attempt of the schedule.
        const noRoom = failure instanceof OverBudget;
        const named = { webhook: webhook.id, ...requestFields({ id: webhook.requestId }) };
        log[noRoom ? 'debug' : 'warn']({ err: failure, ...named }, 'cannot send a webhook');
        await store
          .releaseWebhook(webhook.id, holder, noRoom ? failure.retryAfterS * 1_000 : AFTER_FAILURE_MS)
          .catch(() => {});
      })
      .finally(() => {
        inHand.delete(work);
        const left = (busy.get(webhook.account) ?? 1) - 1;
        if (left > 0) busy.set(webhook.account, left);
        else busy.delete(webhook.account);
        rouse();
      });
    inHand.add(work);
  }

  async function round(): Promise<number> {
    const room = atOnce - inHand.size;
    if (room <= 0) return LONGEST_SLEEP_MS;
    const due = await store.claimWebhooks({
      holder,
      leaseMs: timeoutMs + LEASE_SLACK_MS,
      limit: room,
      perAccount,
      busy,
    });
    for (const webhook of due) take(webhook);
    // The next free slot asks again.
    if (due.length > 0) return 0;
    const next = await store.nextWebhookInMs();
    // Due, but its account has reached its concurrent deliveries (the end of one wakes this loop), or another replica
    // is claiming it.
    if (next !== null && next <= 0) return inHand.size > 0 ? LONGEST_SLEEP_MS : AFTER_FAILURE_MS;
    return Math.min(next ?? LONGEST_SLEEP_MS, LONGEST_SLEEP_MS);
  }

  const run = (async () => {
    while (!stopping.signal.aborted) {
      woken = false;
      const pause = await round().catch((error: unknown) => {
        log.warn({ err: error }, 'cannot read the webhook outbox');
        return AFTER_FAILURE_MS;
      });
      if (pause > 0) await sleep(pause);
    }
  })();
  const listener = store.listenWebhooks(rouse);

  return {
    inHand: () => inHand.size,
    async stop() {
      stopping.abort();
      rouse();
      await run;
      await Promise.allSettled([...inHand, listener.stop()]);
    },
  };
}
