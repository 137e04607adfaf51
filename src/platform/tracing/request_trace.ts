/** The span of a probe request in the API, and the context that its job and its webhook go on with. */
import type { Tracer } from './tracer.ts';
import { newSpanId, newTraceId, parseTraceparent, traceparent } from './trace_context.ts';

export type RequestTrace = NonNullable<ReturnType<typeof requestTrace>>;

export interface BegunRequest {
  /** As the caller sent it. */
  header: string | undefined;
  name: string;
  now?: () => number;
  random?: () => number;
}

/** Undefined: no trace is wanted. A caller's decision to record, or not to, stands. */
export function requestTrace(
  tracer: Tracer | undefined,
  { header, name, now = Date.now, random = Math.random }: BegunRequest,
) {
  if (!tracer) return undefined;
  const caller = parseTraceparent(header);
  if (caller ? !caller.sampled : random() >= tracer.share) return undefined;
  const traceId = caller?.traceId ?? newTraceId();
  const spanId = newSpanId();
  const startMs = now();
  return {
    /** For the ProbeJob and the record: this span as the parent. */
    parent: traceparent({ traceId, spanId, sampled: true }),
    end: (status: number, attributes: Readonly<Record<string, string | number>>): void =>
      tracer.record({
        traceId,
        spanId,
        ...(caller ? { parentSpanId: caller.spanId } : {}),
        name,
        kind: 'server',
        startMs,
        endMs: now(),
        attributes: { 'http.response.status_code': status, ...attributes },
        failed: status >= 500,
      }),
  };
}
