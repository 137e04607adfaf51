/**
 * The notice of an end to the API replica that waits for it. It is built by the recorder of the end, or by the API from
 * the record if the notice was lost.
 */
import { INLINE_ENVELOPE_BYTES, type Ended, type FromCache } from '../../platform/bus/messages.ts';
import type { RecordedEnd } from '../../platform/store/requests.ts';

type Noticed = Pick<RecordedEnd, 'id' | 'status' | 'reason' | 'error' | 'queueTimeMs' | 'hasBody'> & {
  inflatedBytes?: number | null | undefined;
  code?: string | null | undefined;
} & Partial<WithCache>;

type WithCache = Pick<RecordedEnd, 'cachedFrom' | 'cacheAgeS' | 'ioBytes'>;

/** Of a recorded end. */
export const fromCache = ({
  cachedFrom = null,
  cacheAgeS = null,
  ioBytes,
}: Partial<WithCache>): { cache?: FromCache } =>
  cacheAgeS === null
    ? {}
    : { cache: { ...(cachedFrom === null ? {} : { requestId: cachedFrom }), ageS: cacheAgeS, ioBytes: ioBytes ?? 0 } };

/** `body`: included if it is small; otherwise it is read from Postgres. */
export const endedNotice = (
  { id, status, reason, error, code = null, queueTimeMs, hasBody, inflatedBytes, ...more }: Noticed,
  body: Buffer | null = null,
): Ended => ({
  id,
  status,
  reason,
  queueTimeMs,
  hasBody,
  ...fromCache(more),
  ...(typeof inflatedBytes === 'number' ? { inflatedBytes } : {}),
  ...(body && body.length <= INLINE_ENVELOPE_BYTES ? { body: body.toString('base64') } : {}),
  ...(error === null ? {} : { error, ...(code === null ? {} : { code }) }),
});
