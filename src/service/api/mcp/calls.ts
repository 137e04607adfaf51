/**
 * The calls that a tool makes of this API's own endpoints, with the caller's credential, over a connection in memory:
 * authentication, permissions, limits, quotas, log and metrics are those of a call from outside, because it is the same
 * code.
 */
import {
  createServer,
  request as sendRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { duplexPair, type Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { boundedText } from '../../../base/bounded_text.ts';
import { membersOf } from '../../../base/is_object.ts';
import { makeTurns, type Turns } from '../../../base/turns.ts';
import { isUuid } from '../../../platform/store/uuid.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { remoteIp, tokenOf, type Context } from '../http/request_context.ts';
import { untilClosed } from '../probe/stored_result.ts';
import { valueOf, type SaidText, type Shape } from './result_summary.ts';

/** An endpoint refused the call, or the request ended with an error. */
export class Refused extends Error {
  readonly status: number;
  readonly retryAfterS: number | undefined;
  /** Why a source cannot be read (src/base/causes.ts). */
  readonly code: string | undefined;
  constructor(status: number, text: string, retryAfterS?: number, code?: string) {
    super(text);
    this.status = status;
    this.retryAfterS = retryAfterS;
    this.code = code;
  }
}

/** Up to 2 MB, and not parsed: `valueOf` is for those that are short. */
export interface Answer {
  status: number;
  text: string;
}

/** What inner calls take over from the call that makes them. */
interface Origin {
  account: number;
  authorization: string;
  /** Forwarded as they are. */
  headers: Record<string, string>;
  remoteAddress: string | undefined;
}

interface InnerRequest {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  origin: Origin;
  /** Closes the connection, which cancels what the endpoint waits for. */
  signal: AbortSignal;
}

interface InnerCall {
  /** Rejects with Refused. */
  answered: Promise<Answer>;
  /** The request id, as soon as the endpoint has set one. */
  requestId(): string | undefined;
}

export type Inside = ReturnType<typeof makeInside>;

/** Larger answers are not read: parsing one must not hold up other callers. */
const MOST_BYTES = 2 * 1024 * 1024;
/** Answers over `LONG_BYTES` that are read at the same time: over all accounts, and of one. */
const LONG_AT_ONCE = 4;
const LONG_OF_ACCOUNT = 2;
const LONG_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;

/** A connection whose ends close one another. */
function connection(remoteAddress: string | undefined): [near: Duplex, far: Duplex] {
  const [near, far] = duplexPair();
  Object.defineProperty(far, 'remoteAddress', { value: remoteAddress });
  near.once('close', () => far.destroy());
  far.once('close', () => {
    if (!far.writableFinished) near.destroy(new Error('the endpoint closed the connection'));
  });
  for (const end of [near, far]) end.on('error', () => {});
  return [near, far];
}

const tooLong = () =>
  new Refused(
    413,
    `the answer is larger than ${MOST_BYTES} bytes, which is the most that is read here; ask the tools ` +
      'for less, or read it with GET /v1/probe/{request_id}',
  );

const LONGEST_ERROR = 64 * 1024;
function refusalOf({ statusCode: status = 500, headers }: IncomingMessage, text: string): Refused {
  const { error, code } = membersOf(text.length > LONGEST_ERROR ? null : valueOf({ text }));
  const retryAfterS = Number(headers['retry-after'] ?? NaN);
  return new Refused(
    status,
    typeof error === 'string' ? error : 'the call failed',
    Number.isNaN(retryAfterS) ? undefined : retryAfterS,
    typeof code === 'string' ? code : undefined,
  );
}

async function readWhole(answer: IncomingMessage, length: number): Promise<Answer> {
  const { statusCode: status = 500 } = answer;
  try {
    const isKnownTooLong = length !== Infinity && length > MOST_BYTES;
    const text = isKnownTooLong ? undefined : await boundedText(answer, MOST_BYTES);
    if (text === undefined) throw tooLong();
    if (status >= 400) throw refusalOf(answer, text);
    return { status, text };
  } finally {
    answer.destroy();
  }
}

export function makeInside() {
  const watching = new WeakMap<object, (response: ServerResponse) => void>();
  const turns = makeTurns(LONG_AT_ONCE);
  const byAccount = new Map<number, Turns>();
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, headersTimeout: 0 },
    (request, response) => {
      watching.get(request.socket)?.(response);
      inside.handler(request, response);
    },
  );

  async function read(answer: IncomingMessage, account: number): Promise<Answer> {
    const length = Number(answer.headers['content-length'] ?? Infinity);
    if (length <= LONG_BYTES) return readWhole(answer, length);
    const own = byAccount.get(account) ?? makeTurns(LONG_OF_ACCOUNT);
    byAccount.set(account, own);
    try {
      return await own.run(() => turns.run(() => readWhole(answer, length)));
    } finally {
      if (own.running() === 0) byAccount.delete(account);
    }
  }

  function call({ method, path, body, origin, signal }: InnerRequest): InnerCall {
    const [near, far] = connection(origin.remoteAddress);
    let response: ServerResponse | undefined;
    watching.set(far, (made) => {
      response = made;
    });
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answered = new Promise<Answer>((resolve, reject) => {
      const sent = sendRequest(
        {
          createConnection: () => near,
          method,
          path,
          headers: {
            ...origin.headers,
            Authorization: origin.authorization,
            Host: 'localhost',
            ...(text === undefined
              ? {}
              : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
          },
        },
        (answer) => void read(answer, origin.account).then(resolve, reject),
      );
      sent.on('error', reject);
      const stop = (): void => void near.destroy(signal.reason as Error);
      signal.addEventListener('abort', stop, { once: true });
      sent.once('close', () => signal.removeEventListener('abort', stop));
      server.emit('connection', far);
      sent.end(text);
      if (signal.aborted) stop();
    });
    return { answered, requestId: () => response?.getHeader('X-Request-Id')?.toString() };
  }

  const noHandler: RequestListener = (_request, response) => void response.writeHead(503).end();
  /** `handler`: must be set before the first call. */
  const inside = { handler: noHandler, call };
  return inside;
}

export interface Running {
  running: string;
}

/** Copied from the call, so that inner calls have the same address, trace and proxies. */
const HEADERS = ['x-forwarded-for', 'traceparent', 'user-agent'];

const TOKEN = /(?:^|&)token=([^&]*)/;

function originOf(ctx: Context): Origin {
  const token = TOKEN.exec(ctx.querystring)?.[1];
  const header = ctx.get('Authorization');
  return {
    account: tokenOf(ctx).rootUserId,
    authorization: header === '' ? `Bearer ${token ?? ''}` : header,
    headers: Object.fromEntries(HEADERS.flatMap((name) => (ctx.get(name) === '' ? [] : [[name, ctx.get(name)]]))),
    remoteAddress: remoteIp(ctx, 0),
  };
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

export type Calls = ReturnType<typeof makeCalls>;

export function makeCalls({ work, settings }: Pick<Deps, 'work' | 'settings'>, ctx: Context, inside: Inside) {
  const answerMs = settings.mcpAnswerMs!;
  const account = tokenOf(ctx).rootUserId;
  const origin = originOf(ctx);
  const signal = untilClosed(ctx);

  const ask = (method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer> =>
    inside.call({ method, path, body, origin, signal }).answered;

  /** A request that a later call can read: it is on record, and its caller may read it. */
  async function isOpen(id: string | undefined): Promise<boolean> {
    if (id === undefined || !isUuid(id)) return false;
    try {
      return (await ask('GET', `/v1/probe/${id}`)).status === 202;
    } catch (error) {
      if (error instanceof Refused) return false;
      throw error;
    }
  }

  /** Once it is handed out, the request goes on without this call. */
  async function handOut(call: InnerCall): Promise<Running> {
    for (;;) {
      await pause(answerMs, undefined, { signal });
      const id = call.requestId();
      if (await isOpen(id)) return { running: id! };
    }
  }

  return {
    /** Aborted when the caller disconnects. */
    signal,
    /** Throws Refused. */
    ask,
    /** Sends a request that runs tools, as JSON, and waits for its end as long as a call may take. */
    async submit(path: string, body: object): Promise<Answer | Running> {
      const own = new AbortController();
      const stop = (): void => own.abort(new ApiError('hung-up'));
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop();
      const call = inside.call({ method: 'POST', path, body, origin, signal: own.signal });
      // Of a request that was handed out: its result is on record.
      call.answered.catch(() => {});
      const handingOut = handOut(call);
      handingOut.catch(() => {});
      const first = await Promise.race([call.answered, handingOut]);
      // From here on the end of this call does not cancel the request.
      signal.removeEventListener('abort', stop);
      return first;
    },
    /** An answer of any length as the text that a tool answers. */
    async say({ text }: Answer, shape: Shape, mostBytes: number): Promise<SaidText> {
      const said = await work.run('say', { text, shape, mostBytes }, { account, what: 'the answer' });
      if (!('refused' in said)) return said;
      throw new ApiError('invalid-field', { text: said.refused });
    },
    /** For at most `waitMs`: the result, or what it waits for. */
    async readBack(id: string, waitMs: number): Promise<Answer> {
      const until = performance.now() + waitMs;
      for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(LONGEST_PAUSE_MS, wait * 1.5)) {
        const answer = await ask('GET', `/v1/probe/${encodeURIComponent(id)}`);
        if (answer.status !== 202 || performance.now() + wait > until) return answer;
        await pause(wait, undefined, { signal });
      }
    },
  };
}
