/** `mcp`: lines of stdin to `/mcp`, answers to stdout. The server decides everything else. */
import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { boundedText } from '../../base/bounded_text.ts';
import { membersOf } from '../../base/is_object.ts';
import { jsonIn } from '../../base/json_in.ts';
import { requestFor } from '../api/exchange_http.ts';
import { type Access, accessOf, addressBelow } from '../cli_config.ts';
import type { Run } from '../command.ts';
import { EXIT, Interrupted, masked } from '../exits.ts';

// Reads a stream of server-sent events, of which only the data matters.

/** Longer than any message of the server. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/** The data of each event, in order. */
export async function* eventData(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    if (rest.length > MOST_CHARACTERS) throw new Error('an event is too long');
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      else if (line === '' && data.length > 0) {
        yield data.join('\n');
        data = [];
      }
    }
  }
}

// One message to the server, and its answer as it arrives.

const MOST_ANSWER_BYTES = 4 * 1024 * 1024;

async function* oneMessage(answer: IncomingMessage): AsyncGenerator<string> {
  const text = await boundedText(answer, MOST_ANSWER_BYTES);
  if (text === undefined) throw new Error(`the answer is larger than ${MOST_ANSWER_BYTES} bytes`);
  if (text !== '') yield text;
}

async function post(
  { url, token }: Access,
  line: string,
  { headers, signal }: { headers: Record<string, string>; signal: AbortSignal },
) {
  const request = requestFor(url);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(addressBelow(url, '/mcp'), {
      method: 'POST',
      signal,
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(line),
        'User-Agent': 'probeyard-cli',
        ...headers,
      },
    });
    sent.on('response', resolve);
    sent.on('error', reject);
    sent.end(line);
  });
  const isStream = (answer.headers['content-type'] ?? '').startsWith('text/event-stream');
  return {
    status: answer.statusCode ?? 0,
    /** As JSON texts. */
    messages: isStream ? eventData(answer as AsyncIterable<Buffer>) : oneMessage(answer),
  };
}

// Messages of JSON-RPC, as far as the bridge has to understand them.

type Id = string | number;

interface Message {
  id?: unknown;
  method?: unknown;
  params?: unknown;
  result?: unknown;
}

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** Of the transport: the server was not reached, or refused the call. */
const NOT_SENT = -32_000;

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** The parameter that a call is about, by which proxies may route it. */
const NAME_PARAMS = ['name', 'uri', 'taskId'] as const;

const isId = (value: unknown): value is Id => typeof value === 'string' || typeof value === 'number';

const idOf = ({ id }: Message): Id | null => (isId(id) ? id : null);

const errorLine = (id: Id | null, code: number, message: string): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`;

/** As header values are written that are not visible ASCII. */
const headerText = (text: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** The request that a client no longer wants. */
function cancelledBy({ method, params }: Message): Id | undefined {
  if (method !== 'notifications/cancelled') return undefined;
  const { requestId } = membersOf(params);
  return isId(requestId) ? requestId : undefined;
}

/** The revision that an answer to `initialize` settles on. */
function agreedVersion({ result }: Message): string | undefined {
  const { protocolVersion } = membersOf(result);
  return typeof protocolVersion === 'string' ? protocolVersion : undefined;
}

/** Headers that repeat what the message says, which newer revisions require. `agreed`: by `initialize`. */
export function headersOf({ method, params }: Message, agreed: string | undefined): Record<string, string> {
  const { _meta: meta, ...others } = membersOf(params);
  const own = membersOf(meta)[VERSION_KEY];
  const version = typeof own === 'string' ? own : agreed;
  const name = NAME_PARAMS.map((param) => others[param]).find((value) => typeof value === 'string');
  return {
    ...(version === undefined ? {} : { 'MCP-Protocol-Version': headerText(version) }),
    ...(typeof own === 'string' && typeof method === 'string' ? { 'Mcp-Method': headerText(method) } : {}),
    ...(typeof own === 'string' && typeof name === 'string' ? { 'Mcp-Name': headerText(name) } : {}),
  };
}

interface BridgeOptions {
  access: Access;
  signal: AbortSignal;
  /** Writes one line. */
  write(line: string): Promise<void>;
  note(line: string): void;
}

/** The limit of the server. */
const MOST_BYTES = 1024 * 1024;
const MOST_AT_ONCE = 64;

function parsed(line: string): Message | undefined {
  const value = jsonIn(line);
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** The error of the API in an answer that is not a message. */
function refusalIn(text: string, status: number): string {
  const { error } = (parsed(text) ?? {}) as { error?: unknown };
  return typeof error === 'string' ? error : `the server answered with status ${status}`;
}

function makeBridge({ access, signal, write, note }: BridgeOptions) {
  const underWay = new Map<Promise<void>, { id: Id | null; stop: AbortController }>();
  let agreed: string | undefined;

  async function forward(line: string, message: Message, stop: AbortSignal): Promise<void> {
    const id = idOf(message);
    const { status, messages } = await post(access, line, { headers: headersOf(message, agreed), signal: stop });
    for await (const text of messages) {
      const answer = parsed(text);
      if (answer === undefined || !('jsonrpc' in answer)) {
        if (id === null) note(`the server refused a notification: ${refusalIn(text, status)}`);
        else await write(errorLine(id, NOT_SENT, refusalIn(text, status)));
        return;
      }
      if (message.method === 'initialize') agreed = agreedVersion(answer) ?? agreed;
      // One line, however the server wrote it.
      await write(`${JSON.stringify(answer)}\n`);
    }
  }

  function take(line: string): void {
    if (line.trim() === '') return;
    const isTooLong = Buffer.byteLength(line) > MOST_BYTES;
    const message = isTooLong ? undefined : parsed(line);
    if (message === undefined) {
      const text = isTooLong ? `the message is larger than ${MOST_BYTES} bytes` : 'the line is not a JSON object';
      void write(errorLine(null, isTooLong ? INVALID_REQUEST : PARSE_ERROR, text));
      return;
    }
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) {
      // The server takes a closed connection as the wish to cancel.
      for (const { id, stop } of underWay.values()) if (id === cancelled) stop.abort();
      return;
    }
    const id = idOf(message);
    if (underWay.size >= MOST_AT_ONCE) {
      void write(errorLine(id, NOT_SENT, `more than ${MOST_AT_ONCE} calls at once`));
      return;
    }
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const work: Promise<void> = forward(line, message, either)
      .catch(async (error: unknown) => {
        // A cancelled call has no answer.
        if (either.aborted) return;
        const why = masked(`cannot reach ${access.url.origin}: ${(error as Error).message}`);
        if (id === null) note(why);
        else await write(errorLine(id, NOT_SENT, why));
      })
      .finally(() => underWay.delete(work));
    underWay.set(work, { id, stop });
  }

  return {
    take,
    /** Resolves when every message has its answer. */
    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay.keys());
    },
  };
}

// Lines of a stream, each of a bounded length.

/** Above the limit of a message, so that a longer one can be refused as what it is. */
const MOST_IN_LINE = 2 * 1024 * 1024;

/** A line that is too long is cut, and so is no valid message. */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const lines = decoder.write(chunk).split('\n');
    lines[0] = (rest + lines[0]!).slice(0, MOST_IN_LINE);
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== '') yield rest;
}

const run: Run = async ({ env, signal, terminal }) => {
  const gone = new AbortController();
  const ended = AbortSignal.any([signal, gone.signal]);
  const bridge = makeBridge({
    access: await accessOf(env),
    signal: ended,
    // A client that reads no more has ended: its calls are cancelled.
    write: (line) => terminal.data(line).catch(() => gone.abort()),
    note: (line) => terminal.note(line),
  });
  ended.addEventListener('abort', () => void process.stdin.destroy());
  if (ended.aborted) throw new Interrupted();
  try {
    for await (const line of linesOf(process.stdin)) bridge.take(line);
  } catch (error) {
    if (!ended.aborted) throw error;
  }
  await bridge.idle();
  return EXIT.done;
};
export default run;
