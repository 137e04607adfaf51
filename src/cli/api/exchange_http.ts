/**
 * One HTTP exchange. node:http rather than fetch: it loads faster, waits for an answer as long as it is told to, and
 * takes proxies from the environment where Node does (NODE_USE_ENV_PROXY).
 */
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, request } from 'node:http';
import { boundedBytes } from '../../base/bounded_text.ts';
import { EXIT, Failure, Interrupted } from '../exits.ts';
import type { StreamedForm } from './multipart_form.ts';

/**
 * Node's HTTP client. By `import`, Node reads all that the module exports, one of which loads undici: 45 ms of CPU,
 * more than the rest of a start.
 */
export const requestFor = ({ protocol }: URL): typeof request =>
  process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http').request;

/**
 * What no other request is called, nor stands in a file that is sent. It is no secret: the cryptography of Node would
 * take 10 ms to load.
 */
export const newName = (): string =>
  [Date.now(), Math.random(), Math.random()].map((part) => part.toString(36)).join('-');

interface Asked {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body?: string | StreamedForm | undefined;
  /** For the answer, from the end of the body. */
  deadlineMs: number;
  signal: AbortSignal;
}

export interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** More than any answer of the API: it keeps at most 64 MB of each output. */
const MOST_BYTES = 512 * 1024 * 1024;

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved now',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'it did not answer the connection',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not trusted',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

function unreachable(url: URL, error: NodeJS.ErrnoException): Failure {
  const reason = REASONS[error.code ?? ''] ?? error.code ?? error.message;
  const hint = reason.includes('not trusted') ? 'NODE_EXTRA_CA_CERTS=FILE names certificates to trust' : undefined;
  return new Failure(`cannot reach ${url.origin}: ${reason}`, EXIT.unknown, { hint, cause: error });
}

/** A connection that broke may have carried the call; over one that was refused nothing was sent. */
const BROKEN: readonly (string | undefined)[] = ['ECONNRESET', 'EPIPE'];

/** Whether a call may be made again. `twice`: it does the same if it is made twice. */
export function isRepeatable(error: unknown, twice: boolean): error is Failure {
  if (!(error instanceof Failure)) return false;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return code === 'ECONNREFUSED' || (twice && BROKEN.includes(code));
}

export async function exchange({ url, method, headers, body, deadlineMs, signal }: Asked): Promise<Answered> {
  const [text, form] = typeof body === 'object' ? [undefined, await body.open()] : [body];
  // A proxy of the environment, and TLS, are matters of Node's own connections.
  const isPlain = form && url.protocol === 'http:' && !process.env['NODE_USE_ENV_PROXY'];
  const connection = isPlain ? { createConnection: form.connectPatiently } : {};
  const deadline = new AbortController();
  let late: NodeJS.Timeout | undefined;
  // The API cancels the request of a caller who disconnects.
  const either = AbortSignal.any([signal, deadline.signal]);
  const sent = requestFor(url)(url, { method, headers, signal: either, ...connection });
  const answer = once(sent, 'response') as Promise<[IncomingMessage]>;
  // What fails behind an answer has no one who waits for it.
  sent.on('error', () => {});
  answer.catch(() => {});
  try {
    // An answer may come before the whole body is sent, and the connection is then closed behind it.
    const early = await Promise.race([form?.feed(sent), answer]);
    form?.close();
    late = setTimeout(() => deadline.abort(), deadlineMs);
    if (!early) sent.end(text);
    const [answered] = early ?? (await answer);
    return await read(answered, url);
  } catch (error) {
    if (signal.aborted) throw new Interrupted();
    if (deadline.signal.aborted)
      throw new Failure(`${url.origin} did not answer within ${Math.round(deadlineMs / 1_000)} s`, EXIT.unknown);
    throw error instanceof Failure ? error : unreachable(url, error as NodeJS.ErrnoException);
  } finally {
    clearTimeout(late);
    form?.close();
    // What is left of a body is not sent behind the answer.
    if (!sent.writableEnded) sent.destroy();
  }
}

async function read(answer: IncomingMessage, url: URL): Promise<Answered> {
  const body = await boundedBytes(answer, MOST_BYTES);
  if (!body) throw new Failure(`${url.origin}: the answer is larger than ${MOST_BYTES} bytes`, EXIT.unknown);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body };
}
