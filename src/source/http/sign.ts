/** Signatures of S3. */
import { createHash, createHmac } from 'node:crypto';
import { decoded, encodeStrictly } from '../address/s3.ts';
import { cutAt } from '../address/text.ts';
import { authority, type Target } from '../address/target.ts';

export interface S3Keys {
  accessKey: string;
  secret: string;
  /** Of keys that are valid for a while only. */
  session?: string | undefined;
}

/** The SHA-256 of an empty body: a GET has none. */
const EMPTY_BODY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Headers that sign a request for an S3 object (AWS Signature Version 4), a GET unless it says otherwise. */
export function signS3(
  target: Target,
  keys: S3Keys,
  region: string,
  now = new Date(),
  { method, bodySha256 } = { method: 'GET', bodySha256: EMPTY_BODY },
): Record<string, string> {
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const [path, query = ''] = cutAt(target.path, '?');
  const session = keys.session === undefined ? [] : [['x-amz-security-token', keys.session] as const];
  const signed = ['host', 'x-amz-content-sha256', 'x-amz-date', ...session.map(([name]) => name)].join(';');
  const canonical = [
    method,
    path,
    canonicalQuery(query),
    `host:${authority(target)}`,
    `x-amz-content-sha256:${bodySha256}`,
    `x-amz-date:${time}`,
    ...session.map(([name, value]) => `${name}:${value}`),
    '',
    signed,
    bodySha256,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (from, part) => hmac(from, part),
    `AWS4${keys.secret}`,
  );
  const signature = hmac(key, text).toString('hex');
  return {
    'x-amz-date': time,
    'x-amz-content-sha256': bodySha256,
    ...Object.fromEntries(session),
    authorization: [
      `AWS4-HMAC-SHA256 Credential=${keys.accessKey}/${scope}`,
      `SignedHeaders=${signed}`,
      `Signature=${signature}`,
    ].join(', '),
  };
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

function canonicalQuery(query: string): string {
  if (query === '') return '';
  const encode = (text: string): string => encodeStrictly(decoded(text) ?? text);
  return query
    .split('&')
    .map((pair) => cutAt(pair, '='))
    .map(([name, value = '']) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}
