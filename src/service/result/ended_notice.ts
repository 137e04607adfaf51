/**
 * The notice of an end to the API replica that waits for it. It is built by the recorder of the end, or by the API from
 * the record if the notice was lost.
 */
import { INLINE_ENVELOPE_BYTES, type Ended } from '../../platform/bus/messages.ts';
import type { RecordedEnd } from '../../platform/store/requests.ts';

type Noticed = Pick<RecordedEnd, 'id' | 'status' | 'reason' | 'error' | 'queueTimeMs' | 'hasBody'> & {
  inflatedBytes?: number | null | undefined;
  code?: string | null | undefined;
};

/** `body`: included if it is small; otherwise it is read from Postgres. */
export const endedNotice = (
  { id, status, reason, error, code = null, queueTimeMs, hasBody, inflatedBytes }: Noticed,
  body: Buffer | null = null,
): Ended => ({
  id,
  status,
  reason,
  queueTimeMs,
  hasBody,
  ...(typeof inflatedBytes === 'number' ? { inflatedBytes } : {}),
  ...(body && body.length <= INLINE_ENVELOPE_BYTES ? { body: body.toString('base64') } : {}),
  ...(error === null ? {} : { error, ...(code === null ? {} : { code }) }),
});
