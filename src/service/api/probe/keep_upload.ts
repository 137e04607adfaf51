/** Keeps an uploaded file for a request that goes on without its caller, until its end. */
import type { Upload } from '../http/upload_form.ts';
import type { Deps } from '../deps.ts';
import type { ProbeRequest } from './request.ts';

export function keepUpload(
  { waiting, settings, log }: Pick<Deps, 'waiting' | 'settings' | 'log'>,
  id: string,
  upload: Upload,
  { queueTimeoutMs, timeoutMs }: ProbeRequest['limits'],
): void {
  const overdue = AbortSignal.timeout(queueTimeoutMs + timeoutMs + settings.graceMs);
  void waiting
    .wait(id, overdue)
    .catch(() => {})
    .then(() => upload.remove())
    .catch((error: unknown) => log.warn({ err: error }, 'cannot remove an upload'));
}
