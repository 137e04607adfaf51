/** A small OTLP/HTTP receiver that checks each body against the JSON form of opentelemetry-proto. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ajv } from 'ajv';

const hex = (digits: number) => ({ type: 'string', pattern: `^(?!0+$)[0-9a-f]{${digits}}$` });
const object = (properties: object, optional: readonly string[] = []) => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});
const list = (items: object) => ({ type: 'array', items });
/** 64-bit integers are text in the JSON form. */
const int64 = { type: 'string', pattern: '^-?[0-9]{1,20}$' };
const attributes = list(
  object({
    key: { type: 'string', minLength: 1 },
    value: {
      oneOf: [
        object({ stringValue: { type: 'string' } }),
        object({ boolValue: { type: 'boolean' } }),
        object({ intValue: int64 }),
        object({ doubleValue: { type: 'number' } }),
      ],
    },
  }),
);
const BODY = object({
  resourceSpans: list(
    object({
      resource: object({ attributes }),
      scopeSpans: list(
        object({
          scope: object({ name: { type: 'string' } }),
          spans: list(
            object(
              {
                traceId: hex(32),
                spanId: hex(16),
                parentSpanId: hex(16),
                name: { type: 'string', minLength: 1 },
                kind: { type: 'integer', minimum: 1, maximum: 5 },
                startTimeUnixNano: int64,
                endTimeUnixNano: int64,
                attributes,
                status: object({ code: { type: 'integer', minimum: 0, maximum: 2 } }),
              },
              ['parentSpanId'],
            ),
          ),
        }),
      ),
    }),
  ),
});

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code: number };
}

export interface Receiver {
  endpoint: string;
  spans: ReceivedSpan[];
  /** The whole text of everything received. */
  text(): string;
  problems: string[];
  batches: number[];
  /** `stall`: the request gets no answer. */
  mode: 'take' | 'refuse' | 'stall';
  stop(): void;
}

export async function startReceiver(): Promise<Receiver> {
  const valid = new Ajv({ allErrors: true }).compile(BODY);
  const texts: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (receiver.mode === 'stall') return;
    if (receiver.mode === 'refuse') {
      response.writeHead(503).end();
      return;
    }
    const text = Buffer.concat(chunks).toString();
    texts.push(text);
    if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/json')
      receiver.problems.push(`${request.url} ${request.headers['content-type']}`);
    const body = JSON.parse(text) as {
      resourceSpans: { scopeSpans: { spans: ReceivedSpan[] }[] }[];
    };
    if (!valid(body)) receiver.problems.push(JSON.stringify(valid.errors));
    const spans = body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
    receiver.batches.push(spans.length);
    receiver.spans.push(...spans);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    text: () => texts.join('\n'),
    problems: [],
    batches: [],
    mode: 'take',
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return receiver;
}
