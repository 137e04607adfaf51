/** One POST to a token service, through the installation's egress proxy where it applies. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { tunnelThrough, type EgressRoute } from '../source/http/egress.ts';
import { IdentityError } from './error.ts';

export interface TokenRequest {
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** Form fields, or an object for JSON. */
  form?: Readonly<Record<string, string>>;
  json?: object;
}

export interface TokenAnswer {
  status: number;
  text: string;
}

export type Post = (request: TokenRequest) => Promise<TokenAnswer>;

const DEADLINE_MS = 10_000;
/** A token is a few kilobytes. */
const MOST_BYTES = 256 * 1024;

async function textOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > MOST_BYTES) throw new IdentityError('the token service sent too long an answer');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

export function postBy(route: EgressRoute | undefined): Post {
  return async ({ url, headers = {}, form, json }) => {
    const target = new URL(url);
    const secure = target.protocol === 'https:';
    const body = form ? new URLSearchParams(form).toString() : JSON.stringify(json ?? {});
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const host = target.hostname;
    const port = target.port === '' ? (secure ? 443 : 80) : Number(target.port);
    try {
      const socket = route?.applies(host) ? await tunnelThrough(route, host, port, signal) : undefined;
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = (secure ? httpsRequest : httpRequest)(
          target,
          {
            method: 'POST',
            agent: false,
            signal,
            headers: {
              ...headers,
              'user-agent': 'Probeyard',
              accept: 'application/json',
              'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
              'content-length': Buffer.byteLength(body),
            },
            ...(socket === undefined
              ? {}
              : { createConnection: () => (secure ? connectTls({ socket, servername: host }) : socket) }),
          },
          resolve,
        );
        sent.once('error', reject);
        sent.end(body);
      });
      // A redirect would carry the token elsewhere: it is an answer like any other.
      return { status: response.statusCode ?? 0, text: await textOf(response) };
    } catch (cause) {
      if (cause instanceof IdentityError) throw cause;
      throw new IdentityError('the token service cannot be reached', { cause });
    }
  };
}
