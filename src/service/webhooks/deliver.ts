/**
 * Delivers webhooks from the outbox, on every API replica. Not on the controllers, because a process that connects to
 * callers' addresses should not hold the keys that open sources. A row is claimed under a lease longer than any
 * attempt, so another replica takes over after a crash. An attempt counts from the claim: an expired lease is a failed
 * attempt of the schedule.
 */
import { randomUUID } from 'node:crypto';
import { UnreadableResult } from '../result/inflate.ts';
import { OverBudget, type MemoryBudget } from '../result/memory_budget.ts';
import { openResult } from '../result/unpack.ts';
import { hasEnvelope } from '../result/answer.ts';
import { keptTrace, readKeptRequest } from '../result/kept_request.ts';
import { type Logger, requestFields } from '../../base/log.ts';
import { Rounds } from '../../base/rounds.ts';
import { Tally } from '../../base/tally.ts';
import { trustedContext, type ConnectOptions } from '../../source/http/connect.ts';
import { egressRoute, type Egress } from '../../source/http/egress.ts';
import { makeGuard, type Lookup } from '../../source/address/guard.ts';
import type { SourceException } from '../../base/source_settings.ts';
import type { RequestRecord } from '../../platform/store/requests.ts';
import type { Store } from '../../platform/store/store.ts';
import { traceWebhook } from '../../platform/tracing/job_trace.ts';
import type { Tracer } from '../../platform/tracing/tracer.ts';
import type { DueWebhook, WebhookVerdict } from '../../platform/store/webhooks.ts';
import { timeOf, webhookBody, type WebhookItem } from './body.ts';
import { CLOUD_EVENT_TYPE, cloudEvent, type CloudEvent, type WebhookFormat } from './cloud_event.ts';
import type { WebhookMetrics } from './metrics.ts';
import { send, signedHeaders, verdictOf, type Sent } from './send.ts';

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
  openSecret: (kept: Buffer, tokenId: number) => Buffer | Promise<Buffer>;
  openUrl: (kept: string, requestId: string) => Promise<string>;
  /** What a batch sends. Null: it is gone. */
  ofBatch: (webhook: Pick<DueWebhook, 'requestId' | 'progress' | 'createdAt'>) => Promise<OfBatch | null>;
  /** Of this installation; may be empty. */
  publicUrl: string;
}

/** A webhook of a batch: the batch, or the result of an item. */
export type OfBatch = { format: WebhookFormat } & (
  { body: Buffer; event: CloudEvent } | { item: { n: number; ref: string | null; requestId: string } }
);

export interface DeliveryDeps {
  store: Store;
  memory: MemoryBudget;
  log: Logger;
  metrics: WebhookMetrics;
  tracer?: Tracer | undefined;
  settings: DeliverySettings;
}

const TIMEOUT_MS = 15_000;
/** Longer than reading, assembling and sending can take. */
const LEASE_SLACK_MS = 30_000;
/** Polling interval, because a notification may be lost. */
const LONGEST_SLEEP_MS = 10_000;
const AFTER_FAILURE_MS = 1_000;

const unsent = (error: string): Sent => ({ status: null, error, durationMs: 0 });
/** The replica that claimed the webhook ended before it recorded the outcome. */
const LOST = unsent('the attempt was interrupted');
const GONE = unsent('the request or its token was deleted');
/** The key may become available again: the schedule decides, as for a failing receiver. */
const SEALED = unsent('the signing secret or the address cannot be decrypted');
const UNREADABLE = unsent('the result cannot be read');

class CannotDecrypt extends Error {}

/** Keeps the decryption error as the cause. */
const decrypted = async <T>(what: string, opening: () => T | Promise<T>): Promise<T> => {
  try {
    return await opening();
  } catch (cause) {
    throw new CannotDecrypt(`cannot decrypt ${what} of a webhook`, { cause });
  }
};

/** The body to send. Its memory is held until the end of its scope. */
interface WebhookMessage extends Disposable {
  body: Buffer;
  /** Undefined: the body is sent as it is. */
  event: CloudEvent | undefined;
  trace: string | undefined;
}

const namesOf = ({ id, requestId }: DueWebhook) => ({ webhook: id, ...requestFields({ id: requestId }) });

export const startDelivery = (deps: DeliveryDeps): Outbox => new Outbox(deps);
export type Delivery = Outbox;

class Outbox {
  readonly #deps: DeliveryDeps;
  readonly #holder = randomUUID();
  readonly #timeoutMs: number;
  readonly #connect: Omit<ConnectOptions, 'guard'>;
  /** Deliveries under way, by account. */
  readonly #busy = new Tally<number>();
  readonly #inHand = new Set<Promise<void>>();
  readonly #rounds = new Rounds({
    round: () => this.#round(),
    failed: (error) => this.#deps.log.warn({ err: error }, 'cannot read the webhook outbox'),
    restMs: AFTER_FAILURE_MS,
  });
  readonly #listener: { stop(): Promise<void> };

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
    const { ca, egress, timeoutMs = TIMEOUT_MS } = deps.settings;
    this.#timeoutMs = timeoutMs;
    const context = trustedContext(ca);
    this.#connect = {
      verify: true,
      context,
      egress: egress && egressRoute(egress, context),
      timeoutMs,
    };
    this.#listener = deps.store.listenWebhooks(() => this.#rounds.again());
  }

  inHand(): number {
    return this.#inHand.size;
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await Promise.allSettled([...this.#inHand, this.#listener.stop()]);
  }

  /** Takes what is due; returns the time to wait before the next round. */
  async #round(): Promise<number> {
    const { store, settings } = this.#deps;
    const { atOnce = 32, perAccount = 8 } = settings;
    const room = atOnce - this.#inHand.size;
    if (room <= 0) return LONGEST_SLEEP_MS;
    const due = await store.claimWebhooks({
      holder: this.#holder,
      leaseMs: this.#timeoutMs + LEASE_SLACK_MS,
      limit: room,
      perAccount,
      busy: this.#busy,
    });
    for (const webhook of due) this.#take(webhook);
    // The next free slot asks again.
    if (due.length > 0) return 0;
    const next = await store.nextWebhookInMs();
    // Due, but its account has reached its concurrent deliveries (the end of one wakes this loop), or another replica
    // is claiming it.
    if (next !== null && next <= 0) return this.#inHand.size > 0 ? LONGEST_SLEEP_MS : AFTER_FAILURE_MS;
    return Math.min(next ?? LONGEST_SLEEP_MS, LONGEST_SLEEP_MS);
  }

  #take(webhook: DueWebhook): void {
    const { account } = webhook;
    this.#busy.add(account);
    const work: Promise<void> = this.#deliver(webhook)
      .catch((failure: unknown) => this.#putBack(webhook, failure))
      .finally(() => {
        this.#inHand.delete(work);
        this.#busy.add(account, -1);
        this.#rounds.again();
      });
    this.#inHand.add(work);
  }

  /** The fault is ours, not the receiver's: it uses up no attempt of the schedule. */
  async #putBack(webhook: DueWebhook, failure: unknown): Promise<void> {
    const { store, log } = this.#deps;
    const noRoom = failure instanceof OverBudget;
    log[noRoom ? 'debug' : 'warn']({ err: failure, ...namesOf(webhook) }, 'cannot send a webhook');
    const pauseMs = noRoom ? failure.retryAfterS * 1_000 : AFTER_FAILURE_MS;
    await store.releaseWebhook(webhook.id, this.#holder, pauseMs).catch(() => {});
  }

  async #deliver(webhook: DueWebhook): Promise<void> {
    const { store, log, metrics } = this.#deps;
    const { step } = webhook;
    const began = new Date(store.clock.now());
    const { sent, verdict } = await this.#resultOf(webhook);
    const { status, error, durationMs } = sent;
    const attempt = { at: began.toISOString(), status, ...(error === undefined ? {} : { error }), durationMs };
    const counted = await store.recordWebhook(webhook.id, this.#holder, attempt, verdict);
    const { state } = verdict;
    metrics.attempted(counted ? state : 'late', durationMs);
    log.info(
      { ...namesOf(webhook), step, status, state, ms: durationMs, ...(counted ? {} : { late: true }) },
      'webhook sent',
    );
  }

  async #resultOf(webhook: DueWebhook): Promise<{ sent: Sent; verdict: WebhookVerdict }> {
    const { store, log } = this.#deps;
    const judged = (sent: Sent) => ({ sent, verdict: verdictOf(sent, webhook.step, store.clock.now()) });
    // Counted as an attempt: a webhook that crashes its replica is not repeated forever, and not immediately.
    if (webhook.lost) return judged(LOST);
    try {
      const sent = await this.#attempt(webhook);
      return sent ? judged(sent) : { sent: GONE, verdict: { state: 'failed' } };
    } catch (error) {
      if (error instanceof CannotDecrypt) {
        log.error({ err: error, ...namesOf(webhook) }, 'cannot decrypt a webhook');
        return judged(SEALED);
      }
      if (!(error instanceof UnreadableResult)) throw error;
      log.error({ err: error, ...namesOf(webhook) }, 'cannot read a stored result');
      return { sent: UNREADABLE, verdict: { state: 'failed' } };
    }
  }

  /** Null: there is nothing left to send. */
  async #attempt(webhook: DueWebhook): Promise<Sent | null> {
    const { makeSecret, openSecret, openUrl } = this.#deps.settings;
    if (webhook.tokenGone) return null;
    // The first administrator's token may have none yet.
    const kept = webhook.secret ?? (await makeSecret(webhook.tokenId));
    if (!kept) return null;
    const secret = await decrypted('the signing secret', () => openSecret(kept, webhook.tokenId));
    const url = await decrypted('the address', () => openUrl(webhook.url, webhook.requestId));
    using message = await this.#messageOf(webhook);
    return message && (await this.#send(webhook, url, secret, message));
  }

  async #send(webhook: DueWebhook, url: string, secret: Buffer, { body: plain, event, trace: parent }: WebhookMessage) {
    const { store, tracer, settings } = this.#deps;
    const { id, requestId, step } = webhook;
    const body = event ? cloudEvent(event, { id, publicUrl: settings.publicUrl, body: plain }) : plain;
    const trace = traceWebhook(tracer, { parent, requestId, attempt: step + 1 }, store.clock.now);
    const at = new Date(store.clock.now());
    const headers = {
      ...(event ? { 'content-type': CLOUD_EVENT_TYPE } : {}),
      ...signedHeaders(secret, { id, at, body }),
      ...(trace ? { traceparent: trace.traceparent } : {}),
    };
    const guard = makeGuard({
      allow: settings.allow,
      denyExtra: settings.denyCidrs,
      ...(settings.lookup ? { lookup: settings.lookup } : {}),
    });
    const sent = await send({ url, headers, body }, { ...this.#connect, guard }, this.#timeoutMs);
    trace?.end(sent.status);
    return sent;
  }

  async #messageOf(webhook: DueWebhook): Promise<WebhookMessage | null> {
    const { store, settings } = this.#deps;
    const own = await store.readRequest(webhook.requestId);
    if (own) return this.#result(webhook, own);
    const of = await settings.ofBatch(webhook);
    // The user was deleted with all their data.
    if (!of) return null;
    const { format } = of;
    if ('body' in of) {
      const { body, event } = of;
      return { body, event: format === 'plain' ? undefined : event, trace: undefined, [Symbol.dispose]() {} };
    }
    const { requestId, ...item } = of.item;
    const record = await store.readRequest(requestId);
    return record && this.#result(webhook, record, { format, item: { batch: webhook.requestId, ...item } });
  }

  /** `of`: the batch whose item it is. */
  async #result(
    webhook: DueWebhook,
    record: RequestRecord,
    of?: { format: WebhookFormat; item: WebhookItem },
  ): Promise<WebhookMessage | null> {
    const { store, memory } = this.#deps;
    if (record.state === 'open') return null;
    const { id, submittedAt, inflatedBytes } = record;
    const { signal } = this.#rounds;
    const stored = hasEnvelope(record)
      ? await openResult({ store, memory }, { id, submittedAt, inflatedBytes }, webhook.account, signal)
      : null;
    const release = (): void => stored?.place.release();
    try {
      const { response } = readKeptRequest(record);
      const body = await webhookBody(record, stored, response, of?.item);
      const isPlain = (of?.format ?? response.webhookFormat ?? 'plain') === 'plain';
      const subject = of?.item.ref || id;
      // A streamed result leaves only this body of a kilobyte.
      if (stored && !Buffer.isBuffer(stored.packed)) release();
      return {
        body,
        event: isPlain ? undefined : { of: 'request', subject, time: timeOf(record) },
        trace: keptTrace(record.request),
        [Symbol.dispose]: release,
      };
    } catch (error) {
      release();
      throw error;
    }
  }
}
