/**
 * Delivers webhooks from the outbox. Every API replica does: they, not the controllers, because a process that talks to addresses
 * of callers' own should not hold the keys that open sources. A row is claimed under a lease that is longer than an attempt can take,
 * so another replica takes up what a dead one held, and an attempt that counted late changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { unpackResult } from '../envelope/unpack.ts';
import { keptWishes } from '../envelope/wanted.ts';
import type { Logger } from '../log.ts';
import { trustedContext } from '../source/connect.ts';
import { egressRoute, type Egress } from '../source/egress.ts';
import { makeGuard, type Allow, type Lookup } from '../source/guard.ts';
import type { Store } from '../store/store.ts';
import type { DueWebhook } from '../store/webhooks.ts';
import { webhookBody } from './body.ts';
import type { WebhookMetrics } from './metrics.ts';
import { verdictOf } from './schedule.ts';
import { send, type Sent } from './send.ts';
import { signedHeaders } from './sign.ts';

export interface DeliverySettings {
  allowSources: readonly Allow[];
  denyCidrs: readonly string[];
  egress?: Egress | undefined;
  /** Certificates (PEM) to be trusted beside Node's own. */
  ca?: string | undefined;
  lookup?: Lookup;
  timeoutMs?: number;
  /** Deliveries at once, in all and of one token: receivers that are silent must not hold up the others. */
  atOnce?: number;
  perToken?: number;
  /** From what is kept with the token to what is signed with. */
  openSecret: (kept: Buffer, tokenId: number) => Buffer | Promise<Buffer>;
}

export interface DeliveryDeps {
  store: Pick<Store, 'claimWebhooks' | 'nextWebhookInMs' | 'recordWebhook' | 'releaseWebhook' | 'listenWebhooks' | 'readRequest' | 'readBody' | 'clock'>;
  log: Logger;
  metrics: WebhookMetrics;
  settings: DeliverySettings;
}

export interface Delivery { inHand(): number; stop(): Promise<void> }

const TIMEOUT_MS = 15_000;
/** Longer than reading, assembling and sending can take. */
const LEASE_SLACK_MS = 30_000;
/** Looked at anew at least so often: a notice may be lost. */
const LONGEST_SLEEP_MS = 10_000;
const AFTER_FAILURE_MS = 1_000;

export function startDelivery({ store, log, metrics, settings }: DeliveryDeps): Delivery {
  const { timeoutMs = TIMEOUT_MS, atOnce = 32, perToken = 8, openSecret } = settings;
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
      wake = () => { clearTimeout(timer); resolve(); };
    });

  async function messageOf(webhook: DueWebhook): Promise<Buffer | null> {
    const record = await store.readRequest(webhook.requestId);
    // Its user was deleted, and everything of his with him.
    if (!record || record.state === 'open') return null;
    const packed = record.hasBody ? await store.readBody(record.id, record.submittedAt) : null;
    const ended = { requestId: record.id, queueTimeMs: record.queueTimeMs ?? 0, ioBytes: record.ioBytes, endedAt: record.endedAt ?? record.submittedAt, status: record.status ?? 500, error: record.error };
    return webhookBody(ended, packed ? await unpackResult(packed) : null, keptWishes(record));
  }

  /** Null: there is nothing to send any more. */
  async function attempt(webhook: DueWebhook): Promise<Sent | null> {
    const body = webhook.tokenGone ? null : await messageOf(webhook);
    if (!body) return null;
    if (!webhook.secret) throw new Error('the token has no secret to sign with yet');
    const at = new Date(store.clock.now());
    const headers = signedHeaders(await openSecret(webhook.secret, webhook.tokenId), { id: webhook.id, at, body });
    const guard = makeGuard({ allow: [...settings.allowSources, ...webhook.allow], denyExtra: settings.denyCidrs, ...(settings.lookup ? { lookup: settings.lookup } : {}) });
    return send({ url: webhook.url, headers, body }, { guard, verify: true, context, egress, timeoutMs }, timeoutMs);
  }

  async function deliver(webhook: DueWebhook): Promise<void> {
    const { id, requestId, step } = webhook;
    const began = new Date(store.clock.now());
    const sent = await attempt(webhook);
    const verdict = sent ? verdictOf(sent, step, store.clock.now()) : ({ state: 'failed' } as const);
    const { status, error, durationMs } = sent ?? { status: null, error: 'The request or its token is gone.', durationMs: 0 };
    const counted = await store.recordWebhook(id, holder, { at: began.toISOString(), status, ...(error === undefined ? {} : { error }), durationMs }, verdict);
    metrics.attempted(counted ? verdict.state : 'late', durationMs);
    log.info({ webhook: id, request_id: requestId, step, status, state: verdict.state, ms: durationMs, ...(counted ? {} : { late: true }) }, 'webhook sent');
  }

  function take(webhook: DueWebhook): void {
    busy.set(webhook.tokenId, (busy.get(webhook.tokenId) ?? 0) + 1);
    const work: Promise<void> = deliver(webhook)
      .catch(async (failure: unknown) => {
        // Ours, not the receiver's: no attempt of the schedule is spent on it.
        log.warn({ err: failure, webhook: webhook.id }, 'a webhook could not be sent');
        await store.releaseWebhook(webhook.id, holder, AFTER_FAILURE_MS).catch(() => {});
      })
      .finally(() => {
        inHand.delete(work);
        const left = (busy.get(webhook.tokenId) ?? 1) - 1;
        if (left > 0) busy.set(webhook.tokenId, left);
        else busy.delete(webhook.tokenId);
        rouse();
      });
    inHand.add(work);
  }

  async function round(): Promise<number> {
    const room = atOnce - inHand.size;
    if (room <= 0) return LONGEST_SLEEP_MS;
    const due = await store.claimWebhooks({ holder, leaseMs: timeoutMs + LEASE_SLACK_MS, limit: room, perToken, busy });
    for (const webhook of due) take(webhook);
    // Whatever is free first asks again.
    if (due.length > 0) return 0;
    const next = await store.nextWebhookInMs();
    // Due, but its token has as many in hand as it may (the end of one of them rouses), or another replica is just taking it.
    if (next !== null && next <= 0) return inHand.size > 0 ? LONGEST_SLEEP_MS : AFTER_FAILURE_MS;
    return Math.min(next ?? LONGEST_SLEEP_MS, LONGEST_SLEEP_MS);
  }

  const run = (async () => {
    while (!stopping.signal.aborted) {
      woken = false;
      const pause = await round().catch((error: unknown) => {
        log.warn({ err: error }, 'the webhook outbox cannot be read');
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
