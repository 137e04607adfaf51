/** One POST to a caller's address: only to a checked address, without following redirects, and within its time-out. */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { DeadlineError, within } from '../../base/retry.ts';
import { checkForEgress, openSocket, type ConnectOptions } from '../../source/http/connect.ts';
import { dialEgress } from '../../source/http/egress.ts';
import { boundInterim } from '../../source/http/interim.ts';
import { isSourceError } from '../../source/error.ts';
import { parseSource } from '../../source/address/parse.ts';
import { authority, targetOf, urlOf } from '../../source/address/target.ts';

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
    const response = await within(timeoutMs, post(url, headers, body, connect, signal));
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

async function post(
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  connect: ConnectOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const address = parseSource(url);
  const { credentials } = address;
  const target = targetOf(address.url);
  const secure = target.scheme === 'https';
  const options: RequestOptions = {
    method: 'POST',
    path: target.path,
    signal,
    headers: {
      host: authority(target),
      'user-agent': AGENT,
      accept: '*/*',
      'content-type': 'application/json',
      'content-length': body.length,
      connection: 'close',
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
  boundInterim(request);
  return new Promise((resolve, reject) => {
    request.once('error', reject).once('response', resolve);
    request.end(body);
  });
}
