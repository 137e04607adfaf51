/**
 * HTTPS to issuers, in the form of fetch: to checked addresses, through the installation's egress proxy, and with its
 * certificate authority. An answer is bounded, and a redirect is an answer like any other.
 */
import { boundedText } from '../../../base/bounded_text.ts';
import { within } from '../../../base/retry.ts';
import type { SourceException } from '../../../base/source_settings.ts';
import { makeGuard } from '../../../source/address/guard.ts';
import { trustedContext, type ConnectOptions } from '../../../source/http/connect.ts';
import { egressRoute, type Egress } from '../../../source/http/egress.ts';
import { exchange } from '../../webhooks/send.ts';

export interface IssuerNetwork {
  egress?: Egress | undefined;
  /** Certificates (PEM) to trust in addition to Node's own. */
  ca?: string | undefined;
  denyCidrs: readonly string[];
  /** Private places that issuers may be at. */
  allow: readonly SourceException[];
}

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

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof URLSearchParams) return Buffer.from(body.toString());
  throw new TypeError('what is sent to an issuer must be a text');
}

async function ask(address: string, { method, headers, body, signal }: Sent, connect: ConnectOptions) {
  if (!address.startsWith('https:')) throw new TypeError('an issuer must have an https address');
  const sent = { method, url: address, headers: Object.fromEntries(new Headers(headers)), body: bytesOf(body) };
  const answer = await exchange(sent, connect, signal ?? AbortSignal.timeout(TIMEOUT_MS));
  const text = await boundedText(answer as AsyncIterable<Buffer>, MOST_BYTES);
  if (text === undefined) throw new Error('the issuer sent too long an answer');
  const status = answer.statusCode ?? 502;
  const given = Object.entries(answer.headers).filter((one): one is [string, string] => typeof one[1] === 'string');
  return new Response(WITHOUT_BODY.includes(status) ? null : text, { status, headers: given });
}

export function issuerFetch({ egress, ca, denyCidrs, allow }: IssuerNetwork): IssuerFetch {
  const context = trustedContext(ca);
  const connect: ConnectOptions = {
    guard: makeGuard({ allow, denyExtra: denyCidrs }),
    verify: true,
    context,
    egress: egress && egressRoute(egress, context),
    timeoutMs: TIMEOUT_MS,
  };
  // The time-out includes name resolution, which may hang.
  return (address, sent) => within(TIMEOUT_MS, ask(address, sent, connect));
}

/** The operator has named the issuers: they may be inside the network. What else an issuer refers to may not. */
export const placeOfIssuer = ({ issuer }: { issuer: string }): SourceException => {
  const { hostname, port } = new URL(issuer);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 443 : Number(port) };
};
