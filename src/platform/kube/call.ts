/** One call to the API server: deadline, connection errors, refusals. client.ts adds the types. */
import type { Dispatcher } from 'undici';
import { jsonIn } from '../../base/json_in.ts';
import type { Access, SharedKubeConfig } from './connection.ts';
import { errorOfStatus, isKubeError, KubeError, type Status } from './errors.ts';
import type { KubeObject } from './kinds.ts';

export type Query = Record<string, string | number | boolean | undefined>;

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: Query;
  body?: unknown;
  contentType?: string;
  /** Form of the answer, where it is not the whole object. */
  accept?: string | undefined;
  /** Deadline of the whole call, retries included. */
  deadlineMs?: number | undefined;
  /** The server aborts the call after this time, so it cannot take effect later, even if the client is gone. */
  serverTimeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** The subject of the call, for error messages. */
  what?: string;
}

const DEADLINE_MS = 10_000;

function targetOf(prefix: string, path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value));
  const text = params.toString();
  return text === '' ? prefix + path : `${prefix}${path}?${text}`;
}

/** Time of the last response per dispatcher: distinguishes a dead connection from a slow call. */
const lastAnswer = new WeakMap<Dispatcher, number>();

export async function callText(config: SharedKubeConfig, call: Call): Promise<string> {
  const until = performance.now() + (call.deadlineMs ?? DEADLINE_MS);
  for (let attempt = 1; ; attempt++) {
    let sent: Access['headers'] | undefined;
    try {
      const access = config.access();
      // Another call's reload replaces them.
      sent = access.headers;
      return await once(config, access, call, until - performance.now());
    } catch (caught) {
      const error = isKubeError(caught) ? caught : unreachable(caught, whatOf(call));
      const pause = attempt > 3 ? undefined : retryPause(error, call, attempt);
      if (pause === undefined || performance.now() + pause >= until) throw error;
      if (isKubeError(error, 'unauthorized') && !config.reload(sent)) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, pause);
      });
      if (call.signal?.aborted === true) throw aborted(call);
    }
  }
}

export async function callJson<T>(config: SharedKubeConfig, call: Call): Promise<T> {
  const text = await callText(config, call);
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new KubeError('broken-stream', `${whatOf(call)}: the response is not valid JSON`, { cause });
  }
}

/**
 * Undefined: no retry, the caller decides. A refusal by priority and fairness was never executed, so any method may be
 * repeated.
 */
function retryPause(error: unknown, call: Call, attempt: number): number | undefined {
  if (isKubeError(error, 'too-many-requests')) return error.retryAfterMs;
  if (isKubeError(error, 'unauthorized')) return attempt === 1 ? 0 : undefined;
  if (isKubeError(error, 'unreachable') && call.method === 'GET') return 50 * attempt;
  return undefined;
}

function headersOf({ body, contentType, accept }: Call, common: Access['headers']): Access['headers'] {
  if (body === undefined && accept === undefined) return common;
  return {
    ...common,
    ...(accept === undefined ? {} : { accept }),
    ...(body === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
  };
}

async function once(config: SharedKubeConfig, access: Access, call: Call, leftMs: number): Promise<string> {
  const { calls: dispatcher } = access;
  const sentAt = performance.now();
  const abort = new AbortController();
  let timedOut = false;
  const timer = setTimeout(
    () => {
      timedOut = true;
      abort.abort();
    },
    Math.max(leftMs, 1),
  );
  const onAbort = () => abort.abort();
  try {
    if (call.signal?.aborted === true) throw aborted(call);
    call.signal?.addEventListener('abort', onAbort);
    const response = await dispatcher.request({
      origin: access.origin,
      path: targetOf(access.prefix, call.path, {
        ...call.query,
        timeout: call.serverTimeoutMs === undefined ? undefined : `${Math.round(call.serverTimeoutMs)}ms`,
      }),
      method: call.method,
      headers: headersOf(call, access.headers),
      body: call.body === undefined ? null : JSON.stringify(call.body),
      signal: abort.signal,
    });
    lastAnswer.set(dispatcher, performance.now());
    const text = await response.body.text();
    if (response.statusCode < 300) return text;
    throw refusal(response.statusCode, response.headers['retry-after'], text, whatOf(call));
  } catch (error) {
    if (isKubeError(error)) throw error;
    if (timedOut) {
      // No call was answered since this one was sent: the connection died silently.
      if ((lastAnswer.get(dispatcher) ?? 0) < sentAt) config.replace(dispatcher);
      throw new KubeError('timeout', `${whatOf(call)}: no answer within ${Math.round(performance.now() - sentAt)} ms`, {
        cause: error,
      });
    }
    if (abort.signal.aborted) throw aborted(call);
    throw unreachable(error, whatOf(call));
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener('abort', onAbort);
  }
}

function refusal(status: number, retryAfter: string | string[] | undefined, text: string, what: string): KubeError {
  // A proxy or an overloaded server may answer in plain text.
  const answer = jsonIn(text) as Status | null | undefined;
  const body = answer?.kind === 'Status' || answer?.status === 'Failure' ? answer : undefined;
  const seconds = typeof retryAfter === 'string' && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined;
  return errorOfStatus(status, body ?? { message: text.slice(0, 200) || `HTTP ${status}` }, what, seconds);
}

function unreachable(error: unknown, what: string): KubeError {
  const reason = error instanceof Error ? error.message : String(error);
  return new KubeError('unreachable', `${what}: ${reason}`, { cause: error });
}

const whatOf = ({ what, method, path }: Call): string => what ?? `${method} ${path}`;
const aborted = (call: Call): KubeError => new KubeError('aborted', `${whatOf(call)}: aborted by the caller`);

// One WATCH: newline-delimited events from a response that stays open. It ends with its stream; reflector.ts
// restarts it.

export interface WatchEvent<T extends KubeObject> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: T;
}

interface WatchCall {
  path: string;
  query: Query;
  signal: AbortSignal;
  what?: string;
}

/** Time-out for the response's head. */
const OPEN_MS = 30_000;
const NEWLINE = 0x0a;

/** Splits on bytes, so neither an event nor a character that spans chunks is broken. */
export function lineSplitter(onLine: (line: string) => void): (chunk: Buffer) => void {
  let held: Buffer[] = [];
  return (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const rest = chunk.subarray(start, end);
      const line = held.length === 0 ? rest : Buffer.concat([...held, rest]);
      held = [];
      start = end + 1;
      if (line.length > 0) onLine(line.toString('utf8'));
    }
    if (start < chunk.length) held.push(chunk.subarray(start));
  };
}

/**
 * Resolves when the server ends the stream (its timeoutSeconds), rejects with KubeError for anything else. `onEvent`
 * runs in order and must not throw.
 */
export async function watch<T extends KubeObject>(
  config: SharedKubeConfig,
  call: WatchCall,
  onEvent: (event: WatchEvent<T>) => void,
  onOpen?: () => void,
): Promise<void> {
  const what = call.what ?? `watch ${call.path}`;
  const access = config.access();
  const dispatcher = access.watches;
  const abort = new AbortController();
  const onAbort = () => abort.abort();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    abort.abort();
  }, OPEN_MS);
  try {
    if (call.signal.aborted) abort.abort();
    call.signal.addEventListener('abort', onAbort);
    const response = await dispatcher.request({
      origin: access.origin,
      path: targetOf(access.prefix, call.path, { ...call.query, watch: true }),
      method: 'GET',
      headers: access.headers,
      signal: abort.signal,
    });
    clearTimeout(timer);
    if (response.statusCode !== 200)
      throw refusal(response.statusCode, response.headers['retry-after'], await response.body.text(), what);
    onOpen?.();
    const take = lineSplitter((line) => {
      const event = parse<T>(line, what);
      if (!abort.signal.aborted) onEvent(event);
    });
    for await (const chunk of response.body) take(chunk as Buffer);
  } catch (error) {
    if (isKubeError(error)) throw error;
    if (late) {
      config.replace(dispatcher);
      throw new KubeError('timeout', `${what}: did not open in time`, { cause: error });
    }
    if (abort.signal.aborted) throw new KubeError('aborted', `${what}: stopped`);
    throw unreachable(error, what);
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener('abort', onAbort);
    // Otherwise an exception in the loop would leave the response open.
    abort.abort();
  }
}

function parse<T extends KubeObject>(line: string, what: string): WatchEvent<T> {
  let event: { type: string; object: T };
  try {
    event = JSON.parse(line) as typeof event;
  } catch (cause) {
    throw new KubeError('broken-stream', `${what}: an event is not valid JSON`, { cause });
  }
  if (event.type === 'ERROR') {
    const status = event.object as unknown as Status;
    throw errorOfStatus(status.code ?? 500, status, what);
  }
  return event as WatchEvent<T>;
}
