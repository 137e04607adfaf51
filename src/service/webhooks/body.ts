/**
 * The body of a webhook: the envelope with `type` and `timestamp` added, or the error of a request that ended without
 * one.
 */
import type { Reason } from '../../platform/kube/probe_job.ts';
import type { Packed } from '../result/inflate.ts';
import { bytesOf, lengthOf } from '../result/pieces.ts';
import { textOf } from '../result/texts.ts';
import { unpackResult } from '../result/unpack.ts';
import { answerOf, type Answer, type ResponseForm } from '../result/answer.ts';

/** Webhook events. A new event is one row here: types and the OpenAPI description follow. */
export const EVENTS = {
  'probe.completed': 'A probe has ended, and at least one tool succeeded.',
  'probe.failed': 'A probe has ended, and no tool succeeded.',
} as const;

export type WebhookEvent = keyof typeof EVENTS;

const eventOf = (success: boolean): WebhookEvent => (success ? 'probe.completed' : 'probe.failed');

/** The largest body for receivers; the complete result can be read back. */
export const MAX_BODY_BYTES = 1_000_000;

export interface EndedRequest {
  requestId: string;
  queueTimeMs: number;
  ioBytes: number;
  endedAt: Date;
  reason: Reason;
  error: string | null;
  /** Beside the error of an end without an envelope. */
  code?: string | null;
}

function withoutEnvelope({ requestId, queueTimeMs, ioBytes, endedAt, reason, error, code }: EndedRequest): Buffer {
  return Buffer.from(
    JSON.stringify({
      success: false,
      error: textOf({ reason, error }),
      ...(code ? { code } : {}),
      metadata: { request_id: requestId, queue_time: queueTimeMs, io_usage: ioBytes },
      type: eventOf(false),
      timestamp: endedAt.toISOString(),
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

async function whole(body: Answer['body'], packed: Packed): Promise<Buffer> {
  if (typeof body === 'string') return Buffer.from(body);
  const slices: Buffer[] = [];
  for await (const slice of bytesOf(body, packed)) slices.push(Buffer.from(slice));
  return Buffer.concat(slices);
}

export interface Stored {
  packed: Packed;
  /** Null: unknown to its recorder. */
  inflatedBytes: number | null;
}

/** `stored`: null if the request ended without an envelope. */
export async function webhookBody(ended: EndedRequest, stored: Stored | null, form: ResponseForm): Promise<Buffer> {
  if (!stored) return withoutEnvelope(ended);
  // A larger result is never assembled. A comparison shows no output, and is small.
  const tooLarge = stored.inflatedBytes !== null && stored.inflatedBytes > MAX_BODY_BYTES;
  const unpacked = await unpackResult(stored.packed);
  const head = await whole(answerOf(unpacked, ended, form, { withoutOutputs: true }).body, stored.packed);
  const members = {
    type: eventOf(head.toString('latin1', 0, 15) === '{"success":true'),
    timestamp: ended.endedAt.toISOString(),
  };
  if (form.compared) return withMembers(head, members);
  if (!tooLarge) {
    const { body } = answerOf(unpacked, ended, form);
    if (sizeOf(body) <= MAX_BODY_BYTES) {
      const all = withMembers(await whole(body, stored.packed), members);
      if (all.length <= MAX_BODY_BYTES) return all;
    }
  }
  return withMembers(head, { ...members, truncated: true });
}
