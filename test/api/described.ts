/**
 * Checks a response against the OpenAPI description: its status, media type and body. The fixtures check every response
 * of their API.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { openapiDocument } from '../../src/service/api/openapi/openapi_document.ts';
import { OPERATIONS } from '../../src/service/api/endpoints.ts';
import { isManagement } from '../../src/service/api/http/endpoint_access.ts';
import { errorsOf, makeAjv, type Validate } from '../conforms.ts';

export interface Seen {
  method: string;
  /** The path, with or without its query. */
  path: string;
  status: number;
  type: string | null | undefined;
  body: string;
}

type Content = Record<string, { schema: object }>;
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, { content?: Content }> }>>;
  components: object;
}

const { paths, components } = openapiDocument(OPERATIONS) as Document;
const ajv = makeAjv();
ajv.addSchema({ $id: 'probeyard', components });
/** Compiled when it is first needed: all of them take 2 s of CPU, and most processes of a test run need a few. */
function compiled(schema: object): () => Validate {
  let validate: Validate | undefined;
  return () =>
    (validate ??= ajv.compile(
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"probeyard#/components/')) as object,
    ));
}
const ERRORS = {
  gateway: compiled({ $ref: '#/components/schemas/GatewayError' }),
  management: compiled({ $ref: '#/components/schemas/ManagementError' }),
};

const ROUTES = Object.entries(paths)
  .map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
    fixed: !path.includes('{'),
    methods: Object.fromEntries(
      Object.entries(methods).map(([method, { responses }]) => [
        method.toUpperCase(),
        Object.fromEntries(
          Object.entries(responses).map(([status, { content = {} }]) => [
            status,
            Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, compiled(schema)])),
          ]),
        ),
      ]),
    ),
  }))
  .sort((a, b) => Number(b.fixed) - Number(a.fixed));

function fits(validator: () => Validate, body: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return 'the body is not valid JSON';
  }
  const validate = validator();
  return validate(value) ? undefined : errorsOf(validate);
}

/** The fault of a response, or undefined. */
export function undescribed({ method, path, status, type, body }: Seen): string | undefined {
  const [plain = ''] = path.split('?');
  const essence = type?.split(';')[0]?.trim() ?? '';
  const error = ERRORS[isManagement(plain) ? 'management' : 'gateway'];
  const route = ROUTES.find(({ pattern }) => pattern.test(plain));
  // A page, or an unknown path.
  if (!route) return essence === 'application/json' && status >= 400 ? fits(error, body) : undefined;
  const operation = route.methods[method === 'HEAD' ? 'GET' : method];
  if (!operation || (method === 'HEAD' && status === 405))
    return status !== 405 ? 'the method is not described' : method === 'HEAD' ? undefined : fits(error, body);
  const types = operation[String(status)];
  if (!types) return 'the status is not described';
  if (method === 'HEAD') return undefined;
  if (Object.keys(types).length === 0) return body === '' ? undefined : 'a body is not described';
  const validate = types[essence];
  if (!validate) return `the media type is "${essence}"; described: ${Object.keys(types).join(', ')}`;
  return essence === 'application/json' ? fits(validate, body) : undefined;
}

export const describedAs = (seen: Seen): string => `${seen.method} ${seen.path.split('?')[0]} ${seen.status}`;

/** Larger bodies belong to tests of memory, and are not parsed here. */
const MOST_BYTES = 32 << 20;

export interface Watched {
  handler: RequestListener;
  /** Throws if a response did not match the description. */
  assertDescribed(): void;
}

export function watched(handler: RequestListener): Watched {
  const faults = new Set<string>();
  let long = 0;
  return {
    handler(request: IncomingMessage, response: ServerResponse) {
      const pieces: Buffer[] = [];
      let bytes = 0;
      const take = (piece: unknown, encoding: unknown): void => {
        if (typeof piece !== 'string' && !(piece instanceof Uint8Array)) return;
        bytes += piece.length;
        if (bytes > MOST_BYTES) pieces.length = 0;
        else
          pieces.push(
            typeof piece === 'string'
              ? Buffer.from(piece, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
              : Buffer.from(piece),
          );
      };
      const [write, end] = [response.write, response.end];
      response.write = function watchedWrite(this: ServerResponse, ...args: unknown[]) {
        take(args[0], args[1]);
        return write.apply(this, args as Parameters<typeof write>);
      } as typeof write;
      response.end = function watchedEnd(this: ServerResponse, ...args: unknown[]) {
        take(args[0], args[1]);
        if (bytes > MOST_BYTES) long += 1;
        // Koa ends the response to a caller that has disconnected, without a body.
        else if (request.socket.writable) {
          const seen: Seen = {
            method: request.method ?? '',
            path: request.url ?? '',
            status: response.statusCode,
            type: response.getHeader('content-type')?.toString(),
            body: Buffer.concat(pieces).toString(),
          };
          const fault = undescribed(seen);
          if (fault !== undefined) faults.add(`${describedAs(seen)}: ${fault}\n  ${seen.body.slice(0, 300)}`);
        }
        return end.apply(this, args as Parameters<typeof end>);
      } as typeof end;
      return handler(request, response);
    },
    assertDescribed() {
      if (long > 0) console.log(`      ${long} responses over 32 MB were not compared with the description`);
      if (faults.size > 0)
        throw new Error(`responses that the OpenAPI description does not have:\n${[...faults].join('\n')}`);
    },
  };
}
