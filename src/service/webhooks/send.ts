/**
 * One attempt of a webhook: its signature, its POST, and what follows from the response. It goes only to a checked
 * address, without following redirects, and within its time-out.
 */
import { createHmac } from 'node:crypto';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { DeadlineError, within } from '../../base/retry.ts';
import { checkForEgress, openSocket, type ConnectOptions } from '../../source/http/connect.ts';
import { dialEgress } from '../../source/http/egress.ts';
import { isSourceError } from '../../source/error.ts';
import { endlessInterim } from '../../source/failures.ts';
import { parseSource } from '../../source/address/parse.ts';
import { authority, targetOf, urlOf } from '../../source/address/target.ts';
import type { WebhookVerdict } from '../../platform/store/webhooks.ts';

export interface Sent {
  /** Null: no response. */
  status: number | null;
  /** Public text; absent if delivered. */
  error?: string;
  retryAfter?: string | undefined;
  durationMs: number;
}

export interface Message {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
}

const AGENT = 'Probeyard-Webhooks/1.0';
/** Usually one or two precede a response. Reading a flood of them would occupy the event loop. */
const MOST_INTERIM = 16;

export async function send({ url, headers, body }: Message, connect: ConnectOptions, timeoutMs: number): Promise<Sent> {
  const began = performance.now();
  const signal = AbortSignal.timeout(timeoutMs);
  const end = (status: number | null, error?: string, retryAfter?: string): Sent => ({
    status,
    durationMs: Math.round(performance.now() - began),
    ...(error === undefined ? {} : { error }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
  try {
    // The time-out includes name resolution, which may hang.
    const sent = { 'user-agent': AGENT, 'content-type': 'application/json', ...headers };
    const response = await within(timeoutMs, exchange({ method: 'POST', url, headers: sent, body }, connect, signal));
    const status = response.statusCode ?? 0;
    // Only the status matters; the body is not read.
    response.on('error', () => {});
    response.destroy();
    if (status >= 200 && status <= 299) return end(status);
    const error =
      status >= 300 && status <= 399
        ? `the receiver answered ${status}; redirects are not followed`
        : `the receiver answered ${status}`;
    return end(status, error, response.headers['retry-after']);
  } catch (error) {
    if (isSourceError(error)) return end(null, error.message);
    if (signal.aborted || error instanceof DeadlineError)
      return end(null, `the receiver did not answer within ${timeoutMs / 1000} s`);
    return end(
      null,
      (error as NodeJS.ErrnoException).code?.startsWith('HPE_')
        ? 'the receiver does not answer with HTTP'
        : 'the receiver closed the connection without an answer',
    );
  }
}

const basic = ({ user, password }: { user: string; password: string }): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** One request, through the egress proxy if there is one. A redirect is an answer like any other. */
export async function exchange(
  { method, url, headers, body }: Omit<Message, 'body'> & { method: string; body?: Buffer | undefined },
  connect: ConnectOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const address = parseSource(url);
  const { credentials } = address;
  const target = targetOf(address.url);
  const secure = target.scheme === 'https';
  const options: RequestOptions = {
    method,
    path: target.path,
    signal,
    headers: {
      host: authority(target),
      accept: '*/*',
      connection: 'close',
      ...(body === undefined ? {} : { 'content-length': body.length }),
      ...(credentials ? { authorization: basic(credentials) } : {}),
      ...headers,
    },
  };
  let socket: Socket;
  if (!secure && connect.egress?.resolve === 'proxy' && connect.egress.applies(target.host)) {
    // Many proxies tunnel to port 443 only, so plain HTTP requests are sent to the proxy itself.
    await checkForEgress(connect.guard, target.host, target.port);
    socket = await dialEgress(connect.egress, signal);
    socket.on('error', () => {});
    options.path = urlOf(target);
    if (connect.egress.authorization !== undefined)
      options.headers = {
        ...(options.headers as Record<string, string>),
        'proxy-authorization': connect.egress.authorization,
      };
  } else {
    socket = await openSocket(target.host, target.port, secure, connect);
  }
  if (signal.aborted) {
    socket.destroy();
    throw signal.reason;
  }
  const request = httpRequest({ ...options, createConnection: () => socket });
  request.once('close', () => socket.destroy());
  let interim = 0;
  request.on('information', () => ++interim > MOST_INTERIM && request.destroy(endlessInterim()));
  return new Promise((resolve, reject) => {
    request.once('error', reject).once('response', resolve);
    request.end(body);
  });
}

// When a webhook is retried, and when it fails permanently.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses after the first attempt and after each retry. */
export const RETRIES_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;
/** Never earlier than scheduled, and up to a fifth later, so that simultaneous failures spread out. */
const JITTER = 0.2;
/** A receiver may request a longer pause, up to this. */
const LONGEST_PAUSE_MS = 24 * HOUR;

/** `step`: retries already used; `now`: wall-clock time, for a date in Retry-After. */
export function verdictOf(
  { status, retryAfter }: Pick<Sent, 'status' | 'retryAfter'>,
  step: number,
  now: number,
  random: () => number = Math.random,
): WebhookVerdict {
  if (status !== null && status >= 200 && status <= 299) return { state: 'delivered' };
  if (status === 410) return { state: 'failed' };
  const pause = RETRIES_MS[step];
  if (pause === undefined) return { state: 'failed' };
  const asked = retryAfterMs(retryAfter, now);
  return { state: 'pending', afterMs: Math.round(Math.max(pause * (1 + JITTER * random()), asked)) };
}

/** Seconds or a date; invalid values are ignored. */
export function retryAfterMs(header: string | undefined, now: number): number {
  const text = header?.trim() ?? '';
  const asked = /^\d{1,9}$/.test(text)
    ? Number(text) * SECOND
    : /^[A-Za-z]{3}, /.test(text)
      ? Date.parse(text) - now
      : 0;
  return Number.isFinite(asked) ? Math.min(Math.max(asked, 0), LONGEST_PAUSE_MS) : 0;
}

/** Signatures by Standard Webhooks 1.0: HMAC-SHA256 over id, time and body, which prevents modification and replay. */
export function signedHeaders(
  secret: Buffer,
  { id, at, body }: { id: string; at: Date; body: Buffer },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const mac = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` };
}
