/** `traceparent` of W3C Trace Context: who called, and whether the call is recorded. */
import { randomBytes } from 'node:crypto';

export interface TraceContext {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits: the caller's span. */
  spanId: string;
  sampled: boolean;
}

/** Annotation of a ProbeJob whose caller's trace goes on in it. */
export const TRACE_ANNOTATION = 'probeyard.dev/traceparent';

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Later versions may append members. */
const LONGEST = 256;

/** Undefined: there is none, or it is not valid. The standard wants an invalid one ignored, not refused. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  if (text === undefined || text.length > LONGEST) return undefined;
  const [, version, traceId, spanId, flags, more] = FORM.exec(text) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export const traceparent = ({ traceId, spanId, sampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

export const newTraceId = (): string => randomBytes(16).toString('hex');
export const newSpanId = (): string => randomBytes(8).toString('hex');
