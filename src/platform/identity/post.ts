/** One POST to a token service, through the installation's egress proxy where it applies. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { boundedText } from '../../base/bounded_text.ts';
import { tunnelThrough, type EgressRoute } from '../../source/http/egress.ts';

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

export function postBy(route: EgressRoute | undefined): Post {
  return async ({ url, headers = {}, form, json }) => {
    const target = new URL(url);
    const secure = target.protocol === 'https:';
    const body = form ? new URLSearchParams(form).toString() : JSON.stringify(json ?? {});
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const host = target.hostname.replace(/^\[|\]$/g, '');
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
              'user-agent': 'Probeyard',
              accept: 'application/json',
              ...headers,
              'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
              'content-length': Buffer.byteLength(body),
            },
            ...(socket === undefined
              ? {}
              : {
                  createConnection: () =>
                    secure ? connectTls({ socket, servername: isIP(host) === 0 ? host : '' }) : socket,
                }),
          },
          resolve,
        );
        sent.once('error', reject);
        sent.end(body);
      });
      // A redirect would carry the token elsewhere: it is an answer like any other.
      const text = await boundedText(response as AsyncIterable<Buffer>, MOST_BYTES);
      if (text === undefined) throw new IdentityError('the token service sent too long an answer');
      return { status: response.statusCode ?? 0, text };
    } catch (cause) {
      if (cause instanceof IdentityError) throw cause;
      throw new IdentityError('the token service cannot be reached', { cause });
    }
  };
}

/** Why no access was granted. Its text names neither a token nor a role. */
export class IdentityError extends Error {
  override name = 'IdentityError';
}
