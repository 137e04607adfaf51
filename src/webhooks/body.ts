/** What a receiver gets: the envelope itself, with `type` and `timestamp` beside its members; or the error of a request that ended without one. */
import type { Unpacked } from '../envelope/unpack.ts';
import type { Answer } from '../envelope/assemble.ts';
import { answerOf, type About, type Wanted } from '../envelope/wanted.ts';

/** A receiver should not have to take in more than this; the whole stays to be read back. */
export const MAX_BODY_BYTES = 1_000_000;

export interface Ended { requestId: string; queueTimeMs: number; ioBytes: number; endedAt: Date; status: number; error: string | null }

const TEXTS: Record<number, string> = { 404: 'the source is not accessible', 429: 'the request waited too long in the queue', 499: 'the request was cancelled' };

function withoutEnvelope({ requestId, queueTimeMs, ioBytes, endedAt }: Ended, error: string): Buffer {
  return Buffer.from(JSON.stringify({
    success: false, error, metadata: { request_id: requestId, queue_time: queueTimeMs, io_usage: ioBytes }, type: 'probe.failed', timestamp: endedAt.toISOString(),
  }));
}

/** The envelope's own text is not printed again: members are put behind its last one. */
function withMembers(envelope: Buffer, members: object): Buffer {
  return Buffer.concat([envelope.subarray(0, envelope.lastIndexOf('}')), Buffer.from(`,${JSON.stringify(members).slice(1)}`)]);
}

/** At least so many bytes. */
const lengthOf = (body: Answer['body']): number => (typeof body === 'string' ? body.length : body.reduce((sum, piece) => sum + piece.length, 0));
const textOf = (body: Answer['body']): Buffer => (typeof body === 'string' ? Buffer.from(body) : Buffer.concat(body.map((piece) => Buffer.from(piece))));

/** `result`: null where the request ended without one. */
export function webhookBody(ended: Ended, result: Unpacked | null, wanted: Wanted): Buffer {
  if (!result) return withoutEnvelope(ended, ended.error ?? TEXTS[ended.status] ?? 'something went wrong on our side');
  const about: About = { requestId: ended.requestId, queueTimeMs: ended.queueTimeMs };
  const made = answerOf(result, about, wanted);
  if (made.status !== 200) return withoutEnvelope(ended, (JSON.parse(textOf(made.body).toString()) as { error: string }).error);
  // The head of an envelope says it; its outputs may be of any size and are not read for it.
  const head = typeof made.body === 'string' ? made.body : String(made.body[0]);
  const type = head.startsWith('{"success":true') ? 'probe.completed' : 'probe.failed';
  const members = { type, timestamp: ended.endedAt.toISOString() };
  if (lengthOf(made.body) <= MAX_BODY_BYTES) {
    const all = withMembers(textOf(made.body), members);
    if (all.length <= MAX_BODY_BYTES) return all;
  }
  return withMembers(textOf(answerOf(result, { ...about, withoutOutputs: true }, wanted).body), { ...members, truncated: true });
}
