/**
 * The notice of an end, for the API replica that waits for it. Whoever recorded the end builds it from what was
 * recorded; so does the API, from the record itself, where the notice was lost.
 */
import { INLINE_ENVELOPE_BYTES, type Ended } from '../bus/messages.ts';
import type { RecordedEnd } from '../store/requests.ts';

type Noticed = Pick<RecordedEnd, 'id' | 'status' | 'reason' | 'error' | 'queueTimeMs' | 'hasBody'> & {
  inflatedBytes?: number | null | undefined;
};

/** `body`: rides along where it is small enough; else it is read from Postgres. */
export const endedNotice = (
  { id, status, reason, error, queueTimeMs, hasBody, inflatedBytes }: Noticed,
  body: Buffer | null = null,
): Ended => ({
  id,
  status,
  reason,
  queueTimeMs,
  hasBody,
  ...(typeof inflatedBytes === 'number' ? { inflatedBytes } : {}),
  ...(body && body.length <= INLINE_ENVELOPE_BYTES ? { body: body.toString('base64') } : {}),
  ...(error === null ? {} : { error }),
});
