import { createHash, createHmac } from 'node:crypto';
import { authority, type Target } from '../address/target.ts';

export interface S3Keys {
  accessKey: string;
  secret: string;
}

/** The SHA-256 of no bytes: a GET has no body. */
const emptyBody = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** The headers that sign a GET of an S3 object (AWS Signature Version 4). */
export function signS3(target: Target, keys: S3Keys, region: string, now = new Date()): Record<string, string> {
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const content = emptyBody;
  const [path = '/', query = ''] = splitOnce(target.path, '?');
  const signed = 'host;x-amz-content-sha256;x-amz-date';
  const canonical = [
    'GET',
    path,
    canonicalQuery(query),
    `host:${authority(target)}`,
    `x-amz-content-sha256:${content}`,
    `x-amz-date:${time}`,
    '',
    signed,
    content,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (from, part) => hmac(from, part),
    `AWS4${keys.secret}`,
  );
  return {
    'x-amz-date': time,
    'x-amz-content-sha256': content,
    authorization: `AWS4-HMAC-SHA256 Credential=${keys.accessKey}/${scope}, SignedHeaders=${signed}, Signature=${hmac(key, text).toString('hex')}`,
  };
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const splitOnce = (text: string, mark: string): string[] => {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
};

function canonicalQuery(query: string): string {
  if (query === '') return '';
  const encode = (text: string): string =>
    encodeURIComponent(decode(text)).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return query
    .split('&')
    .map((pair) => splitOnce(pair, '='))
    .map(([name = '', value = '']) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
