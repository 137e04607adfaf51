/**
 * One WATCH: newline-delimited events from a response that stays open. It ends with its stream; reflector.ts restarts
 * it.
 */
import type { SharedKubeConfig } from './connection.ts';
import { targetOf, refusal, unreachable, type Query } from './call.ts';
import { KubeError, errorOfStatus, isKubeError, type Status } from './errors.ts';
import type { KubeObject } from './kinds.ts';

export interface WatchEvent<T extends KubeObject> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: T;
}

export interface WatchCall {
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
  const abort = new AbortController();
  const onAbort = () => abort.abort();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    abort.abort();
  }, OPEN_MS);
  const access = await config.access();
  const dispatcher = access.watches;
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
