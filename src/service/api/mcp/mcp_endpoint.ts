/** `POST /mcp`: the Model Context Protocol. Its tools call the other endpoints with the caller's token. */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import Type from 'typebox';
import { isObject } from '../../../base/is_object.ts';
import { errorResponse, type Operation } from '../openapi/operation.ts';
import { BATCH_TOOLS } from './tools/batch_tools.ts';
import { REQUEST_TOOLS } from './tools/request_tools.ts';
import { searchTool } from './tools/search.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import type { TextBody } from '../http/read_input.ts';
import type { Context } from '../http/request_context.ts';
import { type Described, endpoint, type Endpoint } from '../http/endpoint.ts';
import { hostOf } from '../http/middleware.ts';
import { component } from '../http/request_fields.ts';
import { makeCalls, type Inside } from './calls.ts';
import { makeServe, type Serve } from './mcp_protocol.ts';

// Messages of JSON-RPC as the description has them.

const Id = Type.Unsafe<string | number | null>({ type: ['string', 'number', 'null'] });

const MessageSchema = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(Id),
    method: Type.String({ description: 'Such as tools/list or tools/call.' }),
    params: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { title: 'McpRequest', additionalProperties: true },
);

const AnswerSchema = component('McpResponse', {
  jsonrpc: Type.Literal('2.0'),
  id: Type.Optional(Id),
  result: Type.Optional(Type.Object({}, { additionalProperties: true })),
  error: Type.Optional(Type.Object({ code: Type.Integer(), message: Type.String() }, { additionalProperties: true })),
});

const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;
/** Of the protocol's package: the answer of a caller that has disconnected. */
const CLOSED = 499;

/**
 * A page whose name was pointed at this server sends its own origin, which is equal to the Host header: only the known
 * names of this installation are accepted.
 */
function checkOrigin(ctx: Context, ownHosts: readonly string[]): void {
  const origin = ctx.get('Origin');
  if (origin === '') return;
  const host = hostOf(origin);
  if (host === null || !ownHosts.includes(host))
    throw new ApiError('foreign-site', { text: 'Origin: is not an origin of this installation' });
}

function refuse(ctx: Context, status: number, id: unknown, error: { code: number; message: string }): void {
  ctx.status = status;
  ctx.body = { jsonrpc: '2.0', id: typeof id === 'string' || typeof id === 'number' ? id : null, error };
}

/** The message, or undefined if it was answered. */
function messageIn(ctx: Context): object | undefined {
  const { value } = ctx.state.checked as TextBody;
  if (!isObject(value)) {
    const message = Array.isArray(value) ? 'batches are not accepted: send one message' : 'must be a JSON object';
    refuse(ctx, 400, null, { code: INVALID_REQUEST, message });
    return undefined;
  }
  const { method, id } = value;
  // Nothing here changes: such a stream would only hold a connection.
  if (method === 'subscriptions/listen') {
    refuse(ctx, 404, id, { code: METHOD_NOT_FOUND, message: 'there are no notifications to subscribe to' });
    return undefined;
  }
  return value;
}

const FORWARDED = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

function webRequest(ctx: Context, signal: AbortSignal): Request {
  const headers = FORWARDED.flatMap((name) =>
    ctx.get(name) === '' ? [] : [[name, ctx.get(name)] as [string, string]],
  );
  // The package only reads the address to show it.
  return new Request('http://localhost/mcp', { method: 'POST', headers, body: '{}', signal });
}

function send(ctx: Context, response: Response): void {
  if (response.status === CLOSED) throw new ApiError('hung-up');
  ctx.status = response.status;
  if (response.body === null) {
    ctx.body = '';
    ctx.remove('Content-Type');
    return;
  }
  ctx.body = Readable.fromWeb(response.body as ReadableStream);
  ctx.set('Content-Type', response.headers.get('content-type') ?? 'application/json');
  ctx.set('X-Accel-Buffering', 'no');
}

const DESCRIPTION = [
  'The Model Context Protocol over streamable HTTP, for programs in which a language model calls tools. ' +
    'Revisions: 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05. There are no sessions: a message is ' +
    'one POST. Batches are not accepted.',
  'Tools: `search`, `analyze_media_file`, `check_media`, `compare_media`, `check_policy`, `get_result`, ' +
    '`list_capabilities`, `get_usage_stats`, `get_request_logs`, `cancel_request`, `create_batch`, `read_batch`. ' +
    'A tool calls other endpoints with the same token: their permissions, limits and quotas apply, and each ' +
    'call counts. Closing the connection cancels the request.',
  'An answer has at most 24 kB unless the caller asks for more; it names what was left out. Text of media is fenced.',
].join('\n\n');

const eitherError = (status: number, description: string) => ({
  description,
  schema: Type.Unsafe<object>({ anyOf: [AnswerSchema, errorResponse('/mcp', status).schema!] }),
});

const MCP: Described = {
  id: 'mcp',
  summary: 'Model Context Protocol',
  description: DESCRIPTION,
  body: MessageSchema,
  text: {},
  bodyExamples: {
    list: { summary: 'List the tools', value: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
    call: {
      summary: 'Analyze a file',
      value: {
        jsonrpc: '2.0',
        id: 2,
        method: 'tools/call',
        params: { name: 'analyze_media_file', arguments: { url: 'https://media.example.com/film.mp4' } },
      },
    },
  },
  answer: {
    description: 'The response, or a stream of progress that ends with it.',
    schema: AnswerSchema,
    otherTypes: { 'text/event-stream': Type.String() },
  },
  answers: {
    202: { description: 'A notification was taken.' },
    400: eitherError(400, 'The message is not valid, or names a revision that is not spoken.'),
    404: eitherError(404, 'There is no such method, or the installation has no `/mcp`.'),
    406: eitherError(406, '`Accept` must name `application/json` and `text/event-stream`.'),
    500: eitherError(500, 'Internal error.'),
  },
  errors: { 403: 'The account is not active, or `Origin` is not one of this installation.' },
};

/** As it is described, also where it is not served. */
export const mcpOperation: Operation = endpoint('POST /mcp', MCP, () => {}).operation;

export function mcpEndpoint(inside: Inside, operations: () => readonly Operation[], log: Deps['log']): Endpoint {
  let serve: Serve | undefined;
  return endpoint('POST /mcp', MCP, async (deps, ctx) => {
    checkOrigin(ctx, deps.accounts.ownHosts);
    const message = messageIn(ctx);
    if (!message) return;
    serve ??= makeServe([searchTool(operations), ...REQUEST_TOOLS, ...BATCH_TOOLS], log);
    const calls = makeCalls(deps, ctx, inside);
    send(ctx, await serve(webRequest(ctx, calls.signal), message, calls));
  });
}
