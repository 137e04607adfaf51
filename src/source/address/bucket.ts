/** Objects in buckets: their names and access keys. */
import { decodeLoosely } from './s3.ts';
import { cutAt, encodeQuery, invalid, refuseControl } from './text.ts';

export const isBucket = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(name);

/** Splits `BUCKET/OBJECT?query`. The object may contain any character except those that end it. */
export function splitObject(text: string, scheme: string): { bucket: string; key: string; query: string } {
  const slash = text.search(/[/?#@]/);
  const bucket = slash === -1 ? text : text.slice(0, slash);
  if (slash === -1 || text[slash] !== '/') throw invalid(`url must name a bucket and a path: ${scheme}://BUCKET/PATH`);
  if (!isBucket(bucket) || bucket.includes('..')) throw invalid('url does not name a valid bucket');
  const [path, query] = cutAt(text.slice(slash + 1), '?');
  const key = decodeLoosely(path);
  if (key === '') throw invalid('url must name a path in the bucket');
  refuseControl(key, 'path');
  return { bucket, key, query: query === undefined ? '' : `?${encodeQuery(query)}` };
}

export function keysOf(user: string, secret: string): { accessKey: string; secret: string } {
  const keys = { accessKey: decodeLoosely(user), secret: decodeLoosely(secret) };
  // The access key is written into a header between commas and slashes.
  if (!/^[\x21-\x7e]+$/.test(keys.accessKey) || /[,/\s]/.test(keys.accessKey))
    throw invalid('url does not contain a valid access key');
  if (keys.secret === '') throw invalid('url holds an access key without a secret');
  refuseControl(keys.secret, 'secret');
  return keys;
}
