/** The calls that a tool makes, with the caller's credential. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { remoteIp, tokenOf, type Context } from '../http/request_context.ts';
import { isUuid } from '../../../platform/store/uuid.ts';
import { untilClosed } from '../probe/stored_result.ts';
import { valueOf, type SaidText, type Shape } from './tools/result_summary.ts';
import { MOST_BYTES, type Answered, type InnerCall, type Inside, type Origin } from './inside.ts';

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

export interface Running {
  running: string;
}

export interface Calls {
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
  /** Throws Refused. */
  ask(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer>;
  /** Sends a request that runs tools, and waits for its end as long as a call may take. */
  submit(path: string, body: object): Promise<Answer | Running>;
  /** For at most `waitMs`: the result, or what it waits for. */
  readBack(id: string, waitMs: number): Promise<Answer>;
  /** An answer of any length as the text that a tool answers. */
  say(answer: Answer, shape: Shape, mostBytes: number): Promise<SaidText>;
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

const LONGEST_ERROR = 64 * 1024;
function errorOf(answer: Answer): { error: string; code: string | undefined } {
  const value = answer.text.length > LONGEST_ERROR ? null : valueOf(answer);
  const { error, code } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return {
    error: typeof error === 'string' ? error : 'the call failed',
    code: typeof code === 'string' ? code : undefined,
  };
}

function answerOf({ status, headers, text }: Answered): Answer {
  if (text === null)
    throw new Refused(
      413,
      `the answer is larger than ${MOST_BYTES} bytes, which is the most that is read here; ask the tools ` +
        'for less, or read it with GET /v1/probe/{request_id}',
    );
  if (status >= 400) {
    const retryAfterS = Number(headers['retry-after'] ?? NaN);
    const { error, code } = errorOf({ status, text });
    throw new Refused(status, error, Number.isNaN(retryAfterS) ? undefined : retryAfterS, code);
  }
  return { status, text };
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

export function makeCalls({ work, settings }: Pick<Deps, 'work' | 'settings'>, ctx: Context, inside: Inside): Calls {
  const answerMs = settings.mcpAnswerMs!;
  const account = tokenOf(ctx).rootUserId;
  const origin = originOf(ctx);
  const signal = untilClosed(ctx);

  async function ask(method: 'GET' | 'POST', path: string, body?: unknown) {
    return answerOf(await inside.call({ method, path, body, origin, signal }).answered);
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
      const answered = call.answered.then(answerOf);
      // Of a request that was handed out: its result is on record.
      answered.catch(() => {});
      const handingOut = handOut(call);
      handingOut.catch(() => {});
      const first = await Promise.race([answered, handingOut]);
      // From here on the end of this call does not cancel the request.
      signal.removeEventListener('abort', stop);
      return first;
    },
    async say({ text }, shape, mostBytes) {
      const said = await work.run('say', { text, shape, mostBytes }, { account, what: 'the answer' });
      if (!('refused' in said)) return said;
      throw new ApiError('invalid-field', { text: said.refused });
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
