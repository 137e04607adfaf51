/**
 * Sends spans to an OTLP receiver, in batches and in the background. A span that finds the queue full is dropped and
 * counted, and so is a batch that the receiver does not take: nothing ever waits for it.
 */
import { Counter, type Registry } from 'prom-client';

export interface Tracer {
  /** Share of the requests without a traceparent that get a trace. */
  readonly share: number;
  record(span: Span): void;
  /** Sends what is queued, within its deadline. */
  stop(): Promise<void>;
}

export interface TracerSettings extends Resource {
  /** `http://collector:4318`; spans are posted to /v1/traces below it. */
  endpoint: string;
  share: number;
  registry: Registry;
  everyMs?: number;
  timeoutMs?: number;
}

export const MOST_QUEUED = 4_096;
const BATCH = 512;
const EVERY_MS = 1_000;
const TIMEOUT_MS = 5_000;

/** Undefined without an endpoint: then no span is even made. */
export function makeTracer(settings: TracerSettings): Tracer | undefined {
  const { endpoint, share, registry, everyMs = EVERY_MS, timeoutMs = TIMEOUT_MS, ...resource } = settings;
  if (endpoint === '') return undefined;
  const url = `${endpoint}/v1/traces`;
  const sent = new Counter({
    name: 'probeyard_spans_total',
    help: 'Spans, by whether the receiver took them (sent, refused) or the queue was full (dropped)',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['sent', 'refused', 'dropped']) sent.inc({ outcome }, 0);
  let queue: Span[] = [];
  let sending = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  async function send(spans: readonly Span[]): Promise<void> {
    const taken = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(otlpBody(resource, spans)),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    }).then(
      async (response) => {
        await response.body?.cancel();
        return response.ok;
      },
      () => false,
    );
    sent.inc({ outcome: taken ? 'sent' : 'refused' }, spans.length);
  }

  async function flush(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH);
      queue = queue.slice(BATCH);
      await send(batch);
    }
  }

  const arm = (): void => {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      sending = sending.then(flush).finally(() => {
        timer = undefined;
        if (queue.length > 0) arm();
      });
    }, everyMs);
    timer.unref();
  };

  return {
    share,
    record(span) {
      if (queue.length >= MOST_QUEUED) {
        sent.inc({ outcome: 'dropped' });
        return;
      }
      queue.push(span);
      arm();
    },
    async stop() {
      clearTimeout(timer);
      await sending;
      await Promise.race([flush(), new Promise((resolve) => setTimeout(resolve, timeoutMs).unref())]);
    },
  };
}

/** Spans in the JSON form of OTLP/HTTP (opentelemetry-proto, trace/v1). */
type SpanKind = 'internal' | 'server' | 'client';
const KIND: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 };

export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: SpanKind;
  /** Unix time in milliseconds, with fractions. */
  startMs: number;
  endMs: number;
  /** Never a source, an address or a credential. */
  attributes: Readonly<Record<string, string | number | boolean>>;
  failed: boolean;
}

interface Resource {
  /** `probeyard-api`. */
  service: string;
  /** The pod. */
  instance: string;
}

const valueOf = (value: string | number | boolean): object => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  // 64-bit integers are text in the JSON form of protobuf.
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
};
const attributesOf = (attributes: Span['attributes']): object[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
const nanos = (ms: number): string => String(BigInt(Math.round(ms * 1_000)) * 1_000n);

const OK = 1;
const ERROR = 2;

export const otlpBody = ({ service, instance }: Resource, spans: readonly Span[]): object => ({
  resourceSpans: [
    {
      resource: { attributes: attributesOf({ 'service.name': service, 'service.instance.id': instance }) },
      scopeSpans: [
        {
          scope: { name: 'probeyard' },
          spans: spans.map(({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, failed }) => ({
            traceId,
            spanId,
            ...(parentSpanId === undefined ? {} : { parentSpanId }),
            name,
            kind: KIND[kind],
            startTimeUnixNano: nanos(startMs),
            endTimeUnixNano: nanos(Math.max(startMs, endMs)),
            attributes: attributesOf(attributes),
            status: { code: failed ? ERROR : OK },
          })),
        },
      ],
    },
  ],
});
