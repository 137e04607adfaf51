/** The official clients of both generations, and messages by hand. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export interface Answer {
  text: string;
  isError: boolean;
  /** Bytes of the whole result, as it was sent. */
  bytes: number;
}

export interface TestClient {
  name: string;
  tools(): Promise<{ name: string; description?: string | undefined; inputSchema: object }[]>;
  call(name: string, args: object, options?: { signal?: AbortSignal; onprogress?: () => void }): Promise<Answer>;
  close(): Promise<void>;
}

interface Content {
  content?: unknown;
  isError?: unknown;
}
const answerOf = (result: Content): Answer => ({
  text: (result.content as { text: string }[]).map(({ text }) => text).join('\n'),
  isError: result.isError === true,
  bytes: Buffer.byteLength(JSON.stringify(result)),
});

const info = { name: 'test', version: '1.0.0' };
const addressed = (url: string, token: string) =>
  [new URL(`${url}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }] as const;

async function connectNew(url: string, token: string): Promise<TestClient> {
  const client = new Client(info, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(...addressed(url, token)));
  return {
    name: `client 2, revision ${client.getNegotiatedProtocolVersion()}`,
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, options) =>
      answerOf(await client.callTool({ name, arguments: args as Record<string, unknown> }, options)),
    close: () => client.close(),
  };
}

async function connectOld(url: string, token: string): Promise<TestClient> {
  const client = new OldClient(info);
  await client.connect(new OldTransport(...addressed(url, token)) as Parameters<typeof client.connect>[0]);
  return {
    name: 'client 1',
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, options) =>
      answerOf(
        (await client.callTool({ name, arguments: args as Record<string, unknown> }, undefined, options)) as Content,
      ),
    close: () => client.close(),
  };
}

export const CLIENTS: readonly [string, (url: string, token: string) => Promise<TestClient>][] = [
  ['the client of revision 2026-07-28', connectNew],
  ['the client of revision 2025-11-25', connectOld],
];

const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol';

/** A message of the newest revision; `extensions`: those that the client knows. */
export const modern = (method: string, params: object = {}, extensions: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: {
    ...params,
    _meta: {
      [`${META}/protocolVersion`]: MODERN,
      [`${META}/clientInfo`]: info,
      [`${META}/clientCapabilities`]: { extensions },
    },
  },
});

export interface Sent {
  status: number;
  type: string;
  json: Record<string, unknown> & { result?: Record<string, unknown>; error?: { code: number; message: string } };
}

/** One message, with the headers that repeat what it says. */
export async function send(
  url: string,
  token: string | null,
  message: unknown,
  init: { headers?: Record<string, string>; signal?: AbortSignal; query?: string } = {},
): Promise<Sent> {
  const { method, params = {} } = (typeof message === 'object' && message !== null ? message : {}) as {
    method?: string;
    params?: { name?: string; taskId?: string; _meta?: object };
  };
  const name = params.name ?? params.taskId;
  const response = await fetch(`${url}/mcp${init.query ?? ''}`, {
    method: 'POST',
    body: typeof message === 'string' ? message : JSON.stringify(message),
    ...(init.signal ? { signal: init.signal } : {}),
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(params._meta === undefined
        ? {}
        : {
            'MCP-Protocol-Version': MODERN,
            'Mcp-Method': method!,
            ...(name === undefined ? {} : { 'Mcp-Name': name }),
          }),
      ...init.headers,
    },
  });
  const text = await response.text();
  const type = response.headers.get('content-type')?.split(';')[0] ?? '';
  const last =
    type === 'text/event-stream'
      ? text
          .split('\n')
          .findLast((line) => line.startsWith('data:'))
          ?.slice(5)
      : text;
  return { status: response.status, type, json: last ? (JSON.parse(last) as Sent['json']) : {} };
}
