/** What origins are asked: redirects, and which of them gets the credentials of a source. */
import { createHash } from 'node:crypto';
import { boundedText } from '../../base/bounded_text.ts';
import type { OriginAnswer } from './answer.ts';
import { SourceError } from '../error.ts';
import { refusedStatus, stoppedSending, tooManyRedirects } from '../failures.ts';
import { StaleConnection } from './connection.ts';
import type { Pool } from './pool.ts';
import { climbs, decodeLoosely, s3Host } from '../address/s3.ts';
import { signS3, type S3Keys } from './sign.ts';
import {
  resolveReference,
  sameAuthority,
  targetOf,
  urlOf,
  type Target,
  isWeb,
  type S3Settings,
} from '../address/target.ts';
import type { S3Object, Source } from '../source.ts';

/** The scope of a source's credentials: the authority named by the caller, and no other. */
export interface Access {
  home: Target;
  /** The caller's own headers, and the authority that they are for: unlike `home`, it stays what the caller named. */
  own?: { headers: Readonly<Record<string, string>>; to: Target };
  basic?: string;
  keys?: S3Keys;
  /** Its bucket itself is signed for, too: it is listed. */
  lists?: boolean;
  /** Headers in place of a signature. */
  bearer?: Readonly<Record<string, string>>;
  /* the only one that keys and token are used for */ bucket?: Bucket;
  region: string;
}
/** How an address names the bucket: by its host, or by the beginning of its (decoded) path. */
export interface Bucket {
  name: string;
  path: string | undefined;
  /** The path of the source itself. */ file: string;
}

export interface Exchange {
  pool: Pool;
  access: Access | undefined;
  signal: AbortSignal;
  /** Called with each request's connection, and with what is read from its socket. */
  count: { request(fresh: boolean): void; bytes(count: number): void };
}

const MOST_REDIRECTS = 10;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * One GET that follows redirects, each to a checked address, and sends credentials only to the first authority.
 * `target`: where the answer came from.
 */
export async function exchange(
  context: Exchange,
  first: Target,
  headers: Record<string, string>,
): Promise<{ response: OriginAnswer; target: Target }> {
  let target = first;
  let learned = false;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const { response, fresh } = await send(context, target, {
      ...PLAIN,
      ...ownHeaders(context.access, target),
      ...headers,
      ...authorization(context.access, target),
    });
    context.count.request(fresh);
    const status = response.statusCode;
    if (
      !learned &&
      context.access?.keys !== undefined &&
      isSigned(context.access, target) &&
      (status === 301 || status === 307 || status === 400)
    ) {
      const region = await regionOf(response);
      if (region !== undefined && region !== context.access.region) {
        learned = true;
        context.access.region = region;
        target = inRegion(target, region);
        context.access.home = target;
        continue;
      }
      if (status === 400) throw refusedStatus(status);
    }
    const location = response.headers.location;
    if (!REDIRECTS.has(status) || location === undefined) return { response, target };
    drop(response);
    // Node decodes headers as Latin-1, but most origins send redirects in UTF-8.
    const next = resolveReference(urlOf(target), Buffer.from(location, 'latin1').toString('utf8'));
    if (next === undefined)
      throw new SourceError('refused', 'the host redirects to an address that is not http or https', {
        reason: 'redirects',
      });
    target = targetOf(next);
  }
  throw tooManyRedirects(MOST_REDIRECTS);
}

/** A short text, as a listing is one. */
export async function textOf(context: Exchange, target: Target, most: number): Promise<string> {
  const { response } = await exchange(context, target, {});
  return shortText(response, context.signal, most);
}

/** One request of its bucket, which is signed or not sent, and follows nothing. */
export async function askSigned(context: Exchange, target: Target, most: number, put?: Put): Promise<string> {
  const { access, signal, count } = context;
  if (access?.keys === undefined || !isSigned(access, target))
    throw new SourceError('refused', 'the credential is not for the address that the host names');
  const how = put && { method: 'PUT', bodySha256: createHash('sha256').update(put.body).digest('hex') };
  const headers = { ...PLAIN, ...put?.headers, ...signS3(target, access.keys, access.region, new Date(), how) };
  const { response, fresh } = await send(context, target, headers, put?.body);
  count.request(fresh);
  return shortText(response, signal, most);
}

interface Put {
  body: Buffer;
  headers: Readonly<Record<string, string>>;
}

async function shortText(response: OriginAnswer, signal: AbortSignal, most: number): Promise<string> {
  if (response.statusCode !== 200) {
    drop(response);
    throw refusedStatus(response.statusCode);
  }
  const stop = (): void => void response.destroy(stoppedSending());
  signal.addEventListener('abort', stop, { once: true });
  try {
    const text = await boundedText(response as AsyncIterable<Buffer>, most);
    if (text === undefined) throw new SourceError('too-large', `is larger than ${most} bytes`);
    return text;
  } finally {
    signal.removeEventListener('abort', stop);
    response.destroy();
  }
}

const PLAIN = { 'user-agent': 'Probeyard', accept: '*/*', 'accept-encoding': 'identity' };

async function send({ pool, signal, count }: Exchange, target: Target, headers: Record<string, string>, put?: Buffer) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await pool.get(target, headers, signal, (bytes) => count.bytes(bytes), put);
    } catch (error) {
      if (!(error instanceof StaleConnection) || attempt >= 8) throw error;
    }
  }
}

/**
 * Whether a request is signed. A playlist may name any address, so the caller's keys are used only for the bucket that
 * the caller named, not for others that they could open.
 */
export function isSigned(access: Access, target: Target): boolean {
  const { home, bucket } = access;
  if (bucket === undefined) return false;
  const written = target.path.split('?')[0]!;
  // A server may resolve `..` only after it has read the bucket. A caller may name their own object as they like.
  if (target.path !== bucket.file && climbs(written)) return false;
  const path = decodeLoosely(written);
  if (sameAuthority(home, target)) {
    if (bucket.path === undefined || path.startsWith(bucket.path)) return true;
    return access.lists === true && `${path}/` === bucket.path;
  }
  // Amazon serves a bucket of another region under another name.
  const named = home.scheme === target.scheme && s3Host(home.host) !== undefined ? s3Host(target.host) : undefined;
  return (
    named !== undefined &&
    (named.bucket === undefined ? path.startsWith(`/${bucket.name}/`) : named.bucket === bucket.name.toLowerCase())
  );
}

const ownHeaders = (access: Access | undefined, target: Target): Readonly<Record<string, string>> =>
  access?.own !== undefined && sameAuthority(access.own.to, target) ? access.own.headers : {};

function authorization(access: Access | undefined, target: Target): Readonly<Record<string, string>> {
  if (access === undefined) return {};
  if (access.bearer !== undefined) return isSigned(access, target) ? access.bearer : {};
  if (access.keys !== undefined) {
    const presigned = /[?&](?:X-Amz-Signature|Signature)=/i.test(target.path);
    return isSigned(access, target) && !presigned ? signS3(target, access.keys, access.region) : {};
  }
  return access.basic !== undefined && sameAuthority(access.home, target) ? { authorization: access.basic } : {};
}

async function regionOf(response: OriginAnswer): Promise<string | undefined> {
  const named = response.headers['x-amz-bucket-region'];
  if (typeof named === 'string' && /^[a-z0-9-]{1,40}$/.test(named)) {
    drop(response);
    return named;
  }
  if (response.statusCode !== 400) return undefined;
  response.once(
    'close',
    hurried(() => response.destroy(stoppedSending())),
  );
  let text = '';
  for await (const chunk of response as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1');
    if (text.length > 8192) break;
  }
  return /<Region>([a-z0-9-]{1,40})<\/Region>/.exec(text)?.[1];
}

function inRegion(target: Target, region: string): Target {
  return { ...target, host: target.host.replace(/(^|\.)s3\.amazonaws\.com$/, `$1s3.${region}.amazonaws.com`) };
}

/** A body that is of no file is small. No timer of a reader bounds how long it takes, and its connection is shared. */
const DROPPED_MS = 2_000;

/** Returns what is to be called if the body ended in time. */
function hurried(late: () => void): () => void {
  const timer = setTimeout(late, DROPPED_MS).unref();
  return () => clearTimeout(timer);
}

/** Discards a response. A short body is read to its end, so that the connection can be reused. */
export function drop(response: OriginAnswer): void {
  const length = Number(response.headers['content-length'] ?? Infinity);
  if (!(length <= 16384)) {
    response.destroy();
    return;
  }
  response.once(
    'close',
    hurried(() => response.destroy()),
  );
  response.resume();
}

function bucketOf({ bucket, style }: S3Object, home: Target, { endpoint }: S3Settings): Bucket {
  const byHost =
    style === undefined ? endpoint === undefined && s3Host(home.host)?.bucket !== undefined : style === 'host';
  const root = style === undefined && endpoint !== undefined ? targetOf(endpoint).path.replace(/\/+$/, '') : '';
  return { name: bucket, path: byHost ? undefined : decodeLoosely(`${root}/${bucket}/`), file: home.path };
}

/** Azure takes tokens from this revision of its interface on. */
const bearerOf = ({ scheme }: Source, token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  ...(scheme === 'az' ? { 'x-ms-version': '2021-08-06' } : {}),
});

/** The scope of a source's credentials. */
export function accessOf(source: Source, url: string, settings: S3Settings): Access | undefined {
  if (!isWeb(url)) return undefined;
  const home = targetOf(url);
  const { s3, headers, credentials, listing } = source;
  const access: Access = {
    home,
    region: s3?.region ?? settings.region ?? 'us-east-1',
    lists: listing !== undefined,
    ...(headers && { own: { headers: Object.fromEntries(headers), to: home } }),
  };
  if (s3?.bearer !== undefined)
    return { ...access, bearer: bearerOf(source, s3.bearer), bucket: bucketOf(s3, home, settings) };
  if (s3?.accessKey !== undefined && s3.secret !== undefined) {
    const keys = { accessKey: s3.accessKey, secret: s3.secret, session: s3.session };
    return { ...access, keys, bucket: bucketOf(s3, home, settings) };
  }
  if (credentials === undefined) return headers && access;
  const { user, password } = credentials;
  return { ...access, basic: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}
