/**
 * The body of a webhook: the envelope with `type` and `timestamp` added, or the error of a request that ended without
 * one.
 */
import type { RequestRecord } from '../../platform/store/requests.ts';
import type { Packed } from '../result/inflate.ts';
import { fromCache } from '../result/ended_notice.ts';
import { bytesOf, lengthOf } from '../result/pieces.ts';
import { textOf } from '../result/texts.ts';
import { gathered, unpackResult } from '../result/unpack.ts';
import { answerOf, type Answer, type ResponseForm } from '../result/answer.ts';

/** Webhook events. A new event is one row here: types and the OpenAPI description follow. */
export const EVENTS = {
  'probe.completed': 'A probe has ended, and at least one tool succeeded.',
  'probe.failed': 'A probe has ended, and no tool succeeded.',
} as const;

export type WebhookEvent = keyof typeof EVENTS;

/** Its body is the batch. */
export const BATCH_EVENTS = {
  'batch.ended': 'A batch has ended.',
  'batch.progress': 'As many more items of a batch have ended as its `webhook_every` says.',
} as const;

const eventOf = (success: boolean): WebhookEvent => (success ? 'probe.completed' : 'probe.failed');

/** The largest body for receivers; the complete result can be read back. */
export const MAX_BODY_BYTES = 1_000_000;

export type EndedRequest = Pick<
  RequestRecord,
  'id' | 'submittedAt' | 'queueTimeMs' | 'ioBytes' | 'endedAt' | 'reason' | 'error' | 'code'
> &
  Partial<Pick<RequestRecord, 'cachedFrom' | 'cacheAgeS'>>;

function withoutEnvelope({ id, queueTimeMs, ioBytes, reason, error, code }: EndedRequest, more: object): Buffer {
  return Buffer.from(
    JSON.stringify({
      success: false,
      error: textOf({ reason: reason ?? 'InternalError', error }),
      ...(code ? { code } : {}),
      metadata: { request_id: id, queue_time: queueTimeMs ?? 0, io_usage: ioBytes },
      type: eventOf(false),
      ...more,
    }),
  );
}

/** Appends members after the envelope's last one, without serializing the envelope again. */
function withMembers(envelope: Buffer, members: object): Buffer {
  return Buffer.concat([
    envelope.subarray(0, envelope.lastIndexOf('}')),
    Buffer.from(`,${JSON.stringify(members).slice(1)}`),
  ]);
}

const sizeOf = (body: Answer['body']): number => (typeof body === 'string' ? Buffer.byteLength(body) : lengthOf(body));

const whole = async (body: Answer['body'], packed: Packed): Promise<Buffer> =>
  typeof body === 'string' ? Buffer.from(body) : gathered(bytesOf(body, packed));

export interface WebhookItem {
  batch: string;
  n: number;
  ref: string | null;
}

export interface Stored {
  packed: Packed;
  /** Null: unknown to its recorder. */
  inflatedBytes: number | null;
}

/** When the request ended. */
export const timeOf = ({ endedAt, submittedAt }: Pick<EndedRequest, 'endedAt' | 'submittedAt'>): Date =>
  endedAt ?? submittedAt;

/** `stored`: null if the request ended without an envelope. `item`: of a batch, whose request it was. */
export async function webhookBody(
  ended: EndedRequest,
  stored: Stored | null,
  form: ResponseForm,
  item?: WebhookItem,
): Promise<Buffer> {
  const more = { timestamp: timeOf(ended).toISOString(), ...(item ? { item } : {}) };
  if (!stored) return withoutEnvelope(ended, more);
  const about = { requestId: ended.id, queueTimeMs: ended.queueTimeMs ?? 0, error: ended.error, ...fromCache(ended) };
  // A larger result is never assembled. A comparison shows no output, and is small.
  const tooLarge = stored.inflatedBytes !== null && stored.inflatedBytes > MAX_BODY_BYTES;
  const unpacked = await unpackResult(stored.packed);
  const head = await whole(answerOf(unpacked, about, form, { withoutOutputs: true }).body, stored.packed);
  const members = { type: eventOf(head.toString('latin1', 0, 15) === '{"success":true'), ...more };
  if (form.compared) return withMembers(head, members);
  if (!tooLarge) {
    const { body } = answerOf(unpacked, about, form);
    if (sizeOf(body) <= MAX_BODY_BYTES) {
      const all = withMembers(await whole(body, stored.packed), members);
      if (all.length <= MAX_BODY_BYTES) return all;
    }
  }
  return withMembers(head, { ...members, truncated: true });
}
