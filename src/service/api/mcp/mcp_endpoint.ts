/** `POST /mcp`: the Model Context Protocol. Its tools call the other endpoints with the caller's token. */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import Type from 'typebox';
import { isObject, membersOf } from '../../../base/is_object.ts';
import { errorResponse, type Operation } from '../openapi/operation.ts';
import { BATCH_TOOLS, REQUEST_TOOLS, type Tool } from './tools.ts';
import { searchTool } from './search.ts';
import type { Deps } from '../deps.ts';
import { ApiError, ERRORS } from '../errors.ts';
import type { TextBody } from '../http/read_input.ts';
import type { Context } from '../http/request_context.ts';
import { type Described, endpoint, type Endpoint } from '../http/endpoint.ts';
import { hostOf } from '../http/middleware.ts';
import { component } from '../http/request_fields.ts';
import { makeCalls, type Inside, Refused, type Calls } from './calls.ts';
import type {
  CallToolResult,
  McpHttpHandler,
  McpServerFactory,
  Server,
  ServerContext,
  StandardSchemaV1,
} from '@modelcontextprotocol/server';
import type { Logger } from '../../../base/log.ts';
import { isUuid, timeOf } from '../../../platform/store/uuid.ts';
import { ABOUT } from '../openapi/openapi_document.ts';
import { DEFAULT_BYTES, FENCED, textOf } from './answer_text.ts';
import { valueOf } from './result_summary.ts';

// The protocol over the tools: one server object for each HTTP request, without state between requests. Long work as
// tasks, the extension io.modelcontextprotocol/tasks of revision 2026-07-28: a task is a request on record, and its id
// the request id, so every replica can answer for it.

const TASKS = 'io.modelcontextprotocol/tasks';

const POLL_MS = 2_000;
const CANCELLED = 499;

const taskOf = (
  id: string,
  status: 'working' | 'completed' | 'cancelled',
  more: { statusMessage?: string; result?: object } = {},
) => ({
  taskId: id,
  status,
  createdAt: (timeOf(id) ?? new Date(0)).toISOString(),
  lastUpdatedAt: new Date().toISOString(),
  ttlMs: null,
  pollIntervalMs: POLL_MS,
  ...more,
});

const newTask = (id: string) => taskOf(id, 'working', { statusMessage: 'The request runs.' });

const toolResult = (text: string, isError = false) => ({
  content: [{ type: 'text' as const, text }],
  ...(isError ? { isError: true } : {}),
});

/** Whether the error is the recorded end of the request, and not of the call that reads it. */
async function isItsEnd(calls: Calls, id: string, { status, message }: Refused): Promise<boolean> {
  if ([401, 403, 404].includes(status)) return false;
  if (status === 429 && message === ERRORS['rate-limited'].text) return false;
  if (status !== 503 && status !== 429) return status >= 400;
  try {
    await calls.ask('GET', `/frontend/api/v1/media/log/${id}`);
    return true;
  } catch {
    return false;
  }
}

async function getTask(calls: Calls, id: string) {
  try {
    const answer = await calls.ask('GET', `/v1/probe/${id}`);
    if (answer.status === 202) {
      const { state, waiting } = membersOf(valueOf(answer));
      const { text } = membersOf(waiting);
      return taskOf(id, 'working', {
        statusMessage: typeof text === 'string' ? text : `The request is ${String(state)}.`,
      });
    }
    const { text } = await calls.say(answer, { of: 'summary' }, DEFAULT_BYTES);
    return taskOf(id, 'completed', { result: toolResult(text) });
  } catch (error) {
    if (!(error instanceof Refused) || !(await isItsEnd(calls, id, error))) throw error;
    if (error.status === CANCELLED) return taskOf(id, 'cancelled');
    return taskOf(id, 'completed', { result: toolResult(textOf(refusal(error)), true) });
  }
}

/** A request that has ended stays as it is. */
async function cancelTask(calls: Calls, id: string): Promise<object> {
  try {
    await calls.ask('POST', `/v1/probe/${id}/cancel`, {});
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409) throw error;
  }
  return {};
}

/** Tasks never ask for input: a known one ignores what it is sent. */
async function updateTask(calls: Calls, id: string): Promise<object> {
  await getTask(calls, id);
  return {};
}

const ON_TASK = { 'tasks/get': getTask, 'tasks/cancel': cancelTask, 'tasks/update': updateTask };

const WHAT_NOW: Readonly<Record<number, string>> = {
  401: 'The token is not valid or has expired.',
  403: 'The token may not do this, or its quota is used up.',
  404: 'Check the id or name.',
  413: 'Ask for less.',
  429: 'Wait, then repeat the call.',
  499: 'The request was cancelled.',
  503: 'Wait, then repeat the call.',
};

/** Texts of errors may quote a source. */
const refusal = ({ status, message, retryAfterS, code }: Refused) => ({
  lead:
    code === undefined || status >= 500
      ? [
          `The call failed with status ${status}.`,
          ...(WHAT_NOW[status] === undefined ? [] : [WHAT_NOW[status]]),
          ...(retryAfterS === undefined ? [] : [`Retry after ${retryAfterS} s.`]),
        ]
      : [`The source cannot be read (${code}): see error.`],
  data: { error: message, ...(code === undefined ? {} : { code }) },
  isError: true,
});

const INSTRUCTIONS = [
  'Probeyard says what is in media files, playlists and streams, as ffprobe, mediainfo, an HLS validator and a C2PA ' +
    'check see it.',
  'Begin with analyze_media_file, or check_policy where a file must pass a policy. Answers are short: left_out names ' +
    'what was left out, and get_result reads it by its path.',
  'A call that takes long answers with {"state": "running"} and a request_id, or with a task: read it with get_result.',
  FENCED,
].join('\n');

const PROGRESS_MS = 5_000;
const TOOLS_TTL_MS = 300_000;

type Sdk = typeof import('@modelcontextprotocol/server');
type Extra = Record<string, unknown> & { calls: Calls };

const RUNNING = (id: string): CallToolResult =>
  toolResult(
    JSON.stringify({ state: 'running', request_id: id }) +
      '\nThe request goes on. Read it with get_result, or end it with cancel_request.',
  );

const hasTasks = (sdk: Sdk, ctx: ServerContext): boolean => {
  const envelope = ctx.mcpReq.envelope as
    Record<string, { extensions?: Record<string, unknown> } | undefined> | undefined;
  return envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY]?.extensions?.[TASKS] !== undefined;
};

/** Tells a client that asked for it that the call goes on. */
function reportProgress(ctx: ServerContext): () => void {
  const { progressToken } = (ctx.mcpReq._meta ?? {}) as { progressToken?: string | number };
  if (progressToken === undefined) return () => {};
  const began = performance.now();
  const timer = setInterval(() => {
    const progress = Math.round((performance.now() - began) / 1_000);
    const params = { progressToken, progress, message: `waiting for the result, ${progress} s` };
    ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}

/** Errors of a call are answers that say what to do; only a fault of ours is an error of the protocol. */
async function callTool(tool: Tool, calls: Calls, args: unknown): Promise<CallToolResult | { running: string }> {
  try {
    const { outcome, mostBytes } = await tool.run(calls, args);
    if ('running' in outcome) return outcome;
    if (!('answer' in outcome)) return toolResult(textOf(outcome, mostBytes), outcome.isError);
    const { text, isError } = await calls.say(outcome.answer, outcome.shape, mostBytes);
    return toolResult(text, isError);
  } catch (error) {
    const refused = error instanceof ApiError && error.status < 500 ? new Refused(error.status, error.message) : error;
    if (refused instanceof Refused) return toolResult(textOf(refusal(refused)), true);
    throw error;
  }
}

const taskParams: StandardSchemaV1<unknown, { taskId: string }> = {
  '~standard': {
    version: 1,
    vendor: 'probeyard',
    validate(value) {
      const { taskId } = (value ?? {}) as { taskId?: unknown };
      return typeof taskId === 'string' ? { value: { taskId } } : { issues: [{ message: 'taskId: must be a string' }] };
    },
  },
};

/**
 * `work` on a task. Unknown ones, those of which nothing is known now, and callers that know no tasks are errors of the
 * protocol.
 */
const onTask =
  <T>(sdk: Sdk, work: (id: string) => Promise<T>) =>
  async ({ taskId }: { taskId: string }, ctx: ServerContext): Promise<T> => {
    if (!hasTasks(sdk, ctx))
      throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS]: {} } } });
    const { ProtocolError, ProtocolErrorCode } = sdk;
    try {
      if (isUuid(taskId)) return await work(taskId);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status !== 404) throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
    }
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'unknown task');
  };

function serveTasks(sdk: Sdk, server: Server, calls: Calls): void {
  for (const [method, work] of Object.entries(ON_TASK))
    server.setRequestHandler(
      method,
      { params: taskParams },
      onTask(sdk, async (id) => ({ ...(await work(calls, id)) })),
    );
}

function factoryOf(sdk: Sdk, tools: readonly Tool[]): McpServerFactory {
  const byName = new Map(tools.map((one) => [one.name, one]));
  const listed = tools.map(({ name, title, description, annotations, inputSchema }) => ({
    name,
    title,
    description,
    annotations,
    inputSchema: JSON.parse(JSON.stringify(inputSchema)) as { type: 'object' },
  }));
  return ({ era, authInfo }) => {
    const { calls } = authInfo!.extra as Extra;
    const isModern = era === 'modern';
    const server = new sdk.Server(
      { name: 'probeyard', title: ABOUT.title, version: ABOUT.version },
      {
        capabilities: { tools: {}, ...(isModern ? { extensions: { [TASKS]: {} } } : {}) },
        instructions: INSTRUCTIONS,
        cacheHints: { 'tools/list': { ttlMs: TOOLS_TTL_MS, cacheScope: 'public' } },
      },
    );
    server.setRequestHandler('tools/list', () => ({ tools: listed }));
    server.setRequestHandler('tools/call', async ({ params }, ctx) => {
      const found = byName.get(params.name);
      if (!found)
        throw new sdk.ProtocolError(
          sdk.ProtocolErrorCode.InvalidParams,
          `there is no such tool; available: ${[...byName.keys()].join(', ')}`,
        );
      const stop = reportProgress(ctx);
      try {
        const answer = await callTool(found, calls, params.arguments);
        if (!('running' in answer)) return answer as CallToolResult;
        const { running } = answer as { running: string };
        if (isModern && hasTasks(sdk, ctx))
          return { resultType: 'task', ...newTask(running) } as unknown as CallToolResult;
        return RUNNING(running);
      } finally {
        stop();
      }
    });
    if (isModern) serveTasks(sdk, server, calls);
    return server;
  };
}

type Serve = (request: Request, message: unknown, calls: Calls) => Promise<Response>;

/** The package is loaded by the first call: an installation without callers of it does not pay for it. */
function makeServe(tools: readonly Tool[], log: Logger): Serve {
  let made: Promise<McpHttpHandler> | undefined;
  const make = async (): Promise<McpHttpHandler> => {
    const sdk = await import('@modelcontextprotocol/server');
    return sdk.createMcpHandler(factoryOf(sdk, tools), {
      onerror: (error) => log.debug({ err: error }, 'MCP request refused'),
    });
  };
  return async (request, message, calls) => {
    const { fetch } = await (made ??= make());
    const extra: Extra = { calls };
    return fetch(request, { parsedBody: message, authInfo: { token: '', clientId: '', scopes: [], extra } });
  };
}

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
    '`list_capabilities`, `get_usage_stats`, `get_request_logs`, `cancel_request`, `create_batch`, `read_batch`, ' +
    '`create_source`, `read_source`. ' +
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
export const mcpOperation: Operation = endpoint('POST /mcp', { ...MCP, work() {} }).operation;

export function mcpEndpoint(inside: Inside, operations: () => readonly Operation[], log: Deps['log']): Endpoint {
  let serve: Serve | undefined;
  return endpoint('POST /mcp', {
    ...MCP,
    async work(deps, ctx) {
      checkOrigin(ctx, deps.accounts.ownHosts);
      const message = messageIn(ctx);
      if (!message) return;
      serve ??= makeServe([searchTool(operations), ...REQUEST_TOOLS, ...BATCH_TOOLS], log);
      const calls = makeCalls(deps, ctx, inside);
      send(ctx, await serve(webRequest(ctx, calls.signal), message, calls));
    },
  });
}
