/** The calls that a tool makes, with the caller's credential. */
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../errors.ts';
import { remoteIp, type Context } from '../http/context.ts';
import { isUuid } from '../../store/uuid.ts';
import { untilClosed } from '../probe/stored_result.ts';
import { MOST_BYTES, type Answered, type InnerCall, type Inside, type Origin } from './inside.ts';

/** An endpoint refused the call, or the request ended with an error. */
export class Refused extends Error {
  readonly status: number;
  readonly retryAfterS: number | undefined;
  constructor(status: number, text: string, retryAfterS?: number) {
    super(text);
    this.status = status;
    this.retryAfterS = retryAfterS;
  }
}

export interface Running {
  running: string;
}

export interface Calls {
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
  /** The parsed answer, with its status. Throws Refused. */
  ask(method: 'GET' | 'POST', path: string, body?: unknown): Promise<{ status: number; value: unknown }>;
  /** Sends a request that runs tools, and waits for its end as long as a call may take. */
  submit(path: string, body: object): Promise<{ value: unknown } | Running>;
  /** For at most `waitMs`: the result, or what it waits for. */
  readBack(id: string, waitMs: number): Promise<{ status: number; value: unknown }>;
}

/** Copied from the call, so that inner calls have the same address, trace and proxies. */
const HEADERS = ['x-forwarded-for', 'traceparent', 'user-agent'];

const TOKEN = /(?:^|&)token=([^&]*)/;

function originOf(ctx: Context): Origin {
  const token = TOKEN.exec(ctx.querystring)?.[1];
  const header = ctx.get('Authorization');
  return {
    authorization: header === '' ? `Bearer ${token ?? ''}` : header,
    headers: Object.fromEntries(HEADERS.flatMap((name) => (ctx.get(name) === '' ? [] : [[name, ctx.get(name)]]))),
    remoteAddress: remoteIp(ctx, 0),
  };
}

const errorOf = (value: unknown): string => {
  const { error } = (typeof value === 'object' && value !== null ? value : {}) as { error?: unknown };
  return typeof error === 'string' ? error : 'the call failed';
};

function parsed({ status, headers, text }: Answered): { status: number; value: unknown } {
  if (text === null)
    throw new Refused(
      413,
      `the answer is larger than ${MOST_BYTES} bytes, which is the most that is read here; ask the tools ` +
        'for less, or read it with GET /v1/probe/{request_id}',
    );
  let value: unknown = text;
  try {
    value = JSON.parse(text);
  } catch {
    // Bare output of a tool in another format.
  }
  if (status >= 400) {
    const retryAfterS = Number(headers['retry-after'] ?? NaN);
    throw new Refused(status, errorOf(value), Number.isNaN(retryAfterS) ? undefined : retryAfterS);
  }
  return { status, value };
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

export function makeCalls(ctx: Context, inside: Inside, answerMs: number): Calls {
  const origin = originOf(ctx);
  const signal = untilClosed(ctx);

  async function ask(method: 'GET' | 'POST', path: string, body?: unknown) {
    return parsed(await inside.call({ method, path, body, origin, signal }).answered);
  }

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
    signal,
    ask,
    async submit(path, body) {
      const own = new AbortController();
      const stop = (): void => own.abort(new ApiError('hung-up'));
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop();
      const call = inside.call({ method: 'POST', path, body, origin, signal: own.signal });
      const answered = call.answered.then(parsed);
      // Of a request that was handed out: its result is on record.
      answered.catch(() => {});
      const handingOut = handOut(call);
      handingOut.catch(() => {});
      const first = await Promise.race([answered, handingOut]);
      // From here on the end of this call does not cancel the request.
      signal.removeEventListener('abort', stop);
      return first;
    },
    async readBack(id, waitMs) {
      const until = performance.now() + waitMs;
      for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(LONGEST_PAUSE_MS, wait * 1.5)) {
        const answer = await ask('GET', `/v1/probe/${encodeURIComponent(id)}`);
        if (answer.status !== 202 || performance.now() + wait > until) return answer;
        await pause(wait, undefined, { signal });
      }
    },
  };
}
