/**
 * The spans of a job, made by the collector from what it records. Runners export nothing: they need no way out of their
 * namespace for it, and a runner that lies can only draw its own tools wrong.
 */
import type { Tracer } from './tracer.ts';
import { newSpanId, parseTraceparent, traceparent } from './trace_context.ts';

export interface TracedJob {
  /** The annotation, which a user of kubectl may have written. */
  parent: string | undefined;
  /** Of its request. */
  id: string;
  attempt: number;
  submittedMs: number;
  /** Admission; undefined: the job never ran. */
  startedMs: number | undefined;
  /** When the collector had the result, and when it was recorded. */
  collectedMs: number;
  recordedMs: number;
  ioBytes: number;
  reason: string;
  failed: boolean;
  tools: readonly { name: string; version: string; success: boolean; durationMs: number }[];
}

/** Of one job: a comparison of many versions does not fill the queue. */
const MOST_TOOLS = 32;

export function traceJob(tracer: Tracer | undefined, job: TracedJob): void {
  const context = tracer && parseTraceparent(job.parent);
  if (!tracer || !context?.sampled) return;
  const { traceId, spanId: parentSpanId } = context;
  const { startedMs, submittedMs, collectedMs, recordedMs } = job;
  const span = (
    name: string,
    [startMs, endMs]: readonly [number, number],
    attributes: Readonly<Record<string, string | number | boolean>> = {},
    { parent = parentSpanId, failed = false }: { parent?: string; failed?: boolean } = {},
  ): string => {
    const spanId = newSpanId();
    tracer.record({
      traceId,
      spanId,
      parentSpanId: parent,
      name,
      kind: 'internal',
      startMs,
      endMs,
      attributes: { 'probeyard.request_id': job.id, ...attributes },
      failed,
    });
    return spanId;
  };
  span('admission', [submittedMs, startedMs ?? collectedMs]);
  if (startedMs !== undefined) {
    const ran = job.tools.slice(0, MOST_TOOLS);
    // Tools of a request start together: at the admission, or before it where one ran for longer than since then.
    const longestMs = Math.max(0, ...ran.map(({ durationMs }) => durationMs));
    const begunMs = Math.max(submittedMs, Math.min(startedMs, collectedMs - longestMs));
    const parent = span(
      'runner',
      [begunMs, collectedMs],
      { 'probeyard.attempt': job.attempt, 'probeyard.source.bytes': job.ioBytes, 'probeyard.reason': job.reason },
      { failed: job.failed },
    );
    for (const { name, version, success, durationMs } of ran)
      span(
        name,
        [begunMs, Math.min(begunMs + durationMs, collectedMs)],
        { 'probeyard.tool.version': version },
        { parent, failed: !success },
      );
  }
  span('record', [collectedMs, recordedMs]);
}

export type WebhookTrace = NonNullable<ReturnType<typeof traceWebhook>>;

/** The receiver's trace goes on from the attempt's span. */
export function traceWebhook(
  tracer: Tracer | undefined,
  { parent, requestId, attempt }: { parent: string | undefined; requestId: string; attempt: number },
  now: () => number = Date.now,
) {
  const context = tracer && parseTraceparent(parent);
  if (!tracer || !context?.sampled) return undefined;
  const spanId = newSpanId();
  const startMs = now();
  return {
    /** The header of the call. */
    traceparent: traceparent({ traceId: context.traceId, spanId, sampled: true }),
    end: (status: number | null): void =>
      tracer.record({
        traceId: context.traceId,
        spanId,
        parentSpanId: context.spanId,
        name: 'webhook',
        kind: 'client',
        startMs,
        endMs: now(),
        attributes: {
          'probeyard.request_id': requestId,
          'probeyard.attempt': attempt,
          ...(status === null ? {} : { 'http.response.status_code': status }),
        },
        failed: status === null || status >= 400,
      }),
  };
}
