/** Spans in the JSON form of OTLP/HTTP (opentelemetry-proto, trace/v1). */
export type SpanKind = 'internal' | 'server' | 'client';
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

export interface Resource {
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
