/**
 * HTTPS to issuers, in the form of fetch: to checked addresses, through the installation's egress proxy, and with its
 * certificate authority. An answer is bounded, and a redirect is an answer like any other.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { boundedText } from '../../../base/bounded_text.ts';
import { within } from '../../../base/retry.ts';
import type { SourceException } from '../../../base/source_settings.ts';
import { makeGuard } from '../../../source/address/guard.ts';
import { openSocket, trustedContext, type ConnectOptions } from '../../../source/http/connect.ts';
import { egressRoute, type Egress } from '../../../source/http/egress.ts';
import { boundInterim } from '../../../source/http/interim.ts';

export interface IssuerNetwork {
  egress?: Egress | undefined;
  /** Certificates (PEM) to trust in addition to Node's own. */
  ca?: string | undefined;
  denyCidrs: readonly string[];
  /** Private places that issuers may be at. */
  allow: readonly SourceException[];
}

/** The operator has named these: they may be inside the network. What else an issuer refers to may not. */
export const issuerHosts = (issuers: readonly { issuer: string }[]): SourceException[] =>
  issuers.map(({ issuer }) => {
    const { hostname, port } = new URL(issuer);
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 443 : Number(port) };
  });

interface Sent {
  method: string;
  headers: Record<string, string> | Headers;
  body?: unknown;
  signal?: AbortSignal;
}

export type IssuerFetch = (address: string, sent: Sent) => Promise<Response>;

const TIMEOUT_MS = 10_000;
/** Metadata and keys are some ten kilobytes. */
const MOST_BYTES = 1024 * 1024;
const WITHOUT_BODY = [204, 205, 304];

function textOf(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError('what is sent to an issuer must be a text');
}

const plain = (headers: Sent['headers']): Record<string, string> => Object.fromEntries(new Headers(headers).entries());

async function exchange(address: string, { method, headers, body, signal }: Sent, connect: ConnectOptions) {
  const url = new URL(address);
  if (url.protocol !== 'https:') throw new TypeError('an issuer must have an https address');
  const text = textOf(body);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const socket = await openSocket(host, url.port === '' ? 443 : Number(url.port), true, connect);
  const sent = httpRequest({
    method,
    path: `${url.pathname}${url.search}`,
    headers: {
      ...plain(headers),
      host: url.host,
      connection: 'close',
      ...(text === undefined ? {} : { 'content-length': Buffer.byteLength(text) }),
    },
    ...(signal ? { signal } : {}),
    createConnection: () => socket,
  });
  sent.once('close', () => socket.destroy());
  boundInterim(sent);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('error', reject).once('response', resolve);
    sent.end(text);
  });
  const answered = await boundedText(answer as AsyncIterable<Buffer>, MOST_BYTES);
  if (answered === undefined) throw new Error('the issuer sent too long an answer');
  const status = answer.statusCode ?? 502;
  const given = Object.entries(answer.headers).filter((one): one is [string, string] => typeof one[1] === 'string');
  return new Response(WITHOUT_BODY.includes(status) ? null : answered, { status, headers: given });
}

export function issuerFetch({ egress, ca, denyCidrs, allow }: IssuerNetwork): IssuerFetch {
  const connect: ConnectOptions = {
    guard: makeGuard({ allow, denyExtra: denyCidrs }),
    verify: true,
    context: trustedContext(ca),
    egress: egress === undefined ? undefined : egressRoute(egress),
    timeoutMs: TIMEOUT_MS,
  };
  // The time-out includes name resolution, which may hang.
  return (address, sent) => within(TIMEOUT_MS, exchange(address, sent, connect));
}
