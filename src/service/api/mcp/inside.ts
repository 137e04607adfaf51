/**
 * Calls of this API's own endpoints, over a connection in memory: authentication, permissions, limits, quotas, log and
 * metrics are those of a call from outside, because it is the same code.
 */
import {
  createServer,
  request as sendRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { duplexPair, type Duplex } from 'node:stream';
import { makeTurns, type Turns } from '../../../base/turns.ts';

/** What inner calls take over from the call that makes them. */
export interface Origin {
  account: number;
  authorization: string;
  /** Forwarded as they are. */
  headers: Record<string, string>;
  remoteAddress: string | undefined;
}

export interface InnerRequest {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  origin: Origin;
  /** Closes the connection, which cancels what the endpoint waits for. */
  signal: AbortSignal;
}

export interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  /** Null: longer than `MOST_BYTES`. */
  text: string | null;
}

export interface InnerCall {
  answered: Promise<Answered>;
  /** The request id, as soon as the endpoint has set one. */
  requestId(): string | undefined;
}

export interface Inside {
  /** Must be set before the first call. */
  handler: RequestListener;
  call(request: InnerRequest): InnerCall;
}

/** Larger answers are not read: parsing one must not hold up other callers. */
export const MOST_BYTES = 2 * 1024 * 1024;
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

async function readWhole(answer: IncomingMessage, length: number): Promise<Answered> {
  const { statusCode: status = 500, headers } = answer;
  try {
    if (length !== Infinity && length > MOST_BYTES) return { status, headers, text: null };
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) return { status, headers, text: null };
      chunks.push(chunk);
    }
    return { status, headers, text: Buffer.concat(chunks).toString() };
  } finally {
    answer.destroy();
  }
}

export function makeInside(): Inside {
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

  async function read(answer: IncomingMessage, account: number): Promise<Answered> {
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
    const answered = new Promise<Answered>((resolve, reject) => {
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

  const inside: Inside = {
    handler: (_request, response) => {
      response.writeHead(503).end();
    },
    call,
  };
  return inside;
}
