/**
 * Calls of the API, typed by its schemas. Waits as Retry-After asks, and for a server that does not listen, for a
 * bounded time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { jsonIn } from '../../base/json_in.ts';
import { type Access, addressBelow } from '../cli_config.ts';
import { EXIT, Failure, Interrupted, type ExitCode, usage } from '../exits.ts';
import type { Terminal } from '../terminal.ts';
import type { SentFile, StreamedForm } from './multipart_form.ts';
import { exchange, isRepeatable, type Answered } from './exchange_http.ts';
import {
  queryPairs,
  targetOf,
  type Answer,
  type Body,
  type CallName,
  type Params,
  type Query,
} from '../../api_calls.ts';

export interface Call<N extends CallName> {
  params?: Params;
  query?: Query<N>;
  body?: Body<N>;
  /** In place of the body, where a call takes lines; `headers` say of what type. */
  text?: string;
  /** Sent with the body, in a form. */
  file?: SentFile | undefined;
  /** How many bytes of the file are sent. */
  onSent?: ((bytes: number) => void) | undefined;
  headers?: Record<string, string>;
  /** For the answer, once the body is sent. */
  deadlineMs?: number;
}

export interface Api {
  server: URL;
  /** An answer of a status below 300. Everything else is thrown as a Failure. */
  ask<N extends CallName>(name: N, call?: Call<N>): Promise<Answered>;
  /** Its body. */
  call<N extends CallName>(name: N, call?: Call<N>): Promise<Answer<N>>;
  /** The same API for what has to be done after Ctrl-C. */
  afterInterrupt(): Api;
}

export interface ApiOptions {
  /** Without a token: for calls that need none. */
  access: Pick<Access, 'url'> & { token: string | null };
  signal: AbortSignal;
  terminal: Pick<Terminal, 'note'>;
  /** How long to wait between two answers because the API asks to try again later, and for a server that restarts. */
  patienceMs?: number;
}

export const IDEMPOTENCY_KEY = 'Idempotency-Key';
const DEADLINE_MS = 30_000;
const PATIENCE_MS = 60_000;
const AFTER_INTERRUPT_MS = 3_000;
/** Before further tries of a connection that is refused or breaks: a server that restarts is back soon. */
const AGAIN_MS = [1_000, 2_000, 4_000];

const addressOf = (base: URL, path: string, query: object): URL => {
  const url = addressBelow(base, path);
  url.search = new URLSearchParams(queryPairs(query)).toString();
  return url;
};

function bodyOf(answered: Answered, from: URL): unknown {
  const value = jsonIn(answered.body.toString());
  if (value !== undefined) return value;
  throw new Failure(`${from.origin} answered with something that is not JSON: is it a Probeyard?`, EXIT.unknown);
}

async function bodyToSend<N extends CallName>({
  body,
  text,
  file,
  onSent,
}: Call<N>): Promise<string | StreamedForm | undefined> {
  if (file) return (await import('./multipart_form.ts')).formOf((body ?? {}) as Record<string, unknown>, file, onSent);
  return text ?? (body === undefined ? undefined : JSON.stringify(body));
}

function headersOf(method: string, body: string | StreamedForm | undefined): Record<string, string> {
  if (typeof body === 'object') return body.headers;
  if (body === undefined) return method === 'GET' ? {} : { 'Content-Length': '0' };
  return { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) };
}

const EXITS: Readonly<Record<number, ExitCode>> = { 400: EXIT.usage, 404: EXIT.failed, 409: EXIT.failed };
const HINTS: Readonly<Record<number, string>> = {
  401: 'the token is wrong, expired or revoked: set PROBEYARD_TOKEN, or run probeyard login',
  403: 'probeyard token list shows the permissions of tokens; an administrator can raise limits and quotas',
  429: 'more calls than the limit of the token allows, or a queue that is full: try again later, or with fewer at once',
  503: 'nothing is wrong with the request: a part of the service is away, try again later',
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function refusal({ status, headers, body }: Answered, url: URL): Failure {
  // Something between this program and the API may have answered.
  const said = (jsonIn(body.toString()) ?? {}) as { error?: unknown; code?: unknown };
  const message = textOf(said.error) || `${url.origin} answered with status ${status}`;
  return new Failure(message, EXITS[status] ?? EXIT.unknown, {
    status,
    hint: HINTS[status],
    requestId: textOf(headers['x-request-id']),
    code: textOf(said.code),
  });
}

/** Seconds, or a date. */
function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(1, seconds) * 1_000 : undefined;
}

/** Ended early by Ctrl-C. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => {
    throw new Interrupted();
  });

export function makeApi(options: ApiOptions): Api {
  const { access, signal, terminal, patienceMs = PATIENCE_MS } = options;
  let left = patienceMs;
  async function tryLater(why: string, ms: number): Promise<void> {
    left -= ms;
    terminal.note(`${why}; next try in ${Math.round(ms / 1_000)} s`);
    await pause(ms, signal);
  }

  async function exchangePatiently(call: Parameters<typeof exchange>[0], canRepeat: boolean): Promise<Answered> {
    // The API knows a request that it has had before by its key.
    const twice = call.method === 'GET' || IDEMPOTENCY_KEY in call.headers;
    for (const wait of canRepeat ? AGAIN_MS : []) {
      try {
        return await exchange(call);
      } catch (error) {
        if (!isRepeatable(error, twice) || wait > left) throw error;
        await tryLater(error.message, wait);
      }
    }
    return exchange(call);
  }

  async function ask<N extends CallName>(name: N, call: Call<N> = {}): Promise<Answered> {
    const { method, path } = targetOf(name, call.params);
    const url = addressOf(access.url, path, call.query ?? {});
    const body = await bodyToSend(call);
    const headers = {
      ...(access.token === null ? {} : { Authorization: `Bearer ${access.token}` }),
      Accept: '*/*',
      'User-Agent': 'probeyard-cli',
      ...headersOf(method, body),
      ...call.headers,
    };
    const canRepeat = call.file?.canRepeat !== false;
    for (;;) {
      const answered = await exchangePatiently(
        { url, method, headers, body, signal, deadlineMs: call.deadlineMs ?? DEADLINE_MS },
        canRepeat,
      );
      const { status } = answered;
      if (status >= 200 && status < 300) {
        left = patienceMs;
        return answered;
      }
      if (status >= 300 && status < 400)
        throw usage(
          `${url.origin} redirects elsewhere: a token is not sent along`,
          'set PROBEYARD_URL to the address that it redirects to',
        );
      const refused = refusal(answered, url);
      const isLater = (status === 429 || status === 503) && canRepeat;
      const wait = isLater ? retryAfterMs(answered.headers['retry-after']) : undefined;
      if (wait === undefined || wait > left) throw refused;
      await tryLater(refused.message, wait);
    }
  }

  return {
    server: access.url,
    ask,
    async call(name, given) {
      const answered = await ask(name, given);
      return (answered.status === 204 ? undefined : bodyOf(answered, access.url)) as Answer<typeof name>;
    },
    afterInterrupt: () => makeApi({ access, terminal, patienceMs: 0, signal: AbortSignal.timeout(AFTER_INTERRUPT_MS) }),
  };
}
