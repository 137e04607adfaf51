/** Public texts of ends by reason: used when an end is decided, and for a recorded end without a text. */
import type { Reason } from '../../platform/kube/probe_job.ts';

export const INTERNAL = 'internal error';
/** A dependency of the service is unavailable; neither the request nor its caller's load is at fault. */
export const UNAVAILABLE = 'the service is not available; try again later';

/** `QueueFull` of one account, while others still have room. */
export const ACCOUNT_QUEUE_FULL =
  'the account has as many requests in the queue as one account may have, over all its users and tokens; ' +
  'try again later';

export const TEXTS = {
  OriginUnreachable: 'the source is not accessible',
  SourceForbidden: 'the request cannot be processed',
  SourceTooLarge: 'the request cannot be processed',
  ToolUnavailable: 'the tool could not be started',
  InvalidRequest: 'the request cannot be processed',
  QueueTimeout: 'the request waited too long in the queue',
  QueueFull: 'the queue of the installation is full; try again later',
  DeadlineExceeded: 'the request did not end in time',
  Cancelled: 'the request was cancelled',
} as const satisfies Partial<Record<Reason, string>>;

export const textOf = ({ reason, error }: { reason: Reason; error?: string | null | undefined }): string =>
  error ?? (TEXTS as Partial<Record<Reason, string>>)[reason] ?? INTERNAL;
