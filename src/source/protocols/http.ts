/** Web addresses, and S3 objects in the form `https://KEY:SECRET@s3.amazonaws.com/BUCKET/PATH`. */
import { isBucket, keysOf } from '../address/bucket.ts';
import { decodeLoosely, encodeKey, endOfAuthority, s3Host, splitS3OverHttp, type Split } from '../address/s3.ts';
import { classOf, cutAt, encodeQuery, invalid, refuseControl, splitUserInfo, webUrl } from '../address/text.ts';
import type { Source } from '../source.ts';
import type { Protocol } from './protocol.ts';

export const http: Protocol = {
  schemes: { http: { port: 80, countsAs: 'http' }, https: { port: 443, countsAs: 'https' } },
  parse(text, scheme, { s3Hosts = [] }) {
    const s3 = splitS3OverHttp(text, s3Hosts);
    if (s3 !== undefined) return parseS3OverHttp(scheme, s3, s3Hosts);
    const { credentials, rest } = splitUserInfo(text);
    const url = webUrl(scheme, rest);
    return {
      scheme,
      url: url.href,
      ...(credentials === undefined ? {} : { credentials }),
      class: classOf(url.pathname),
    };
  },
  webUrl: ({ url }) => url,
};

function parseS3OverHttp(scheme: string, { user, password, rest }: Split, s3Hosts: readonly string[]): Source {
  const url = webUrl(scheme, rest);
  const host = s3Host(url.host, s3Hosts) ?? s3Host(url.hostname, s3Hosts);
  if (host === undefined) throw invalid('url does not name a valid host');
  // The path as written: dots and double slashes are part of an object's name.
  const [path, query] = cutAt(cutAt(rest.slice(endOfAuthority(rest)), '#')[0], '?');
  const [first, key] = host.bucket === undefined ? cutAt(path.slice(1), '/') : [host.bucket, path.slice(1)];
  const bucket = decodeLoosely(first);
  if (!isBucket(bucket)) throw invalid('url does not name a valid bucket');
  if (key === undefined || key === '') throw invalid('url must name a path in the bucket');
  const name = decodeLoosely(key);
  refuseControl(name, 'path');
  const style = host.bucket === undefined ? 'path' : 'host';
  const search = query === undefined ? '' : `?${encodeQuery(query)}`;
  return {
    scheme,
    url: `${scheme}://${url.host}/${style === 'path' ? `${bucket}/` : ''}${encodeKey(name)}${search}`,
    s3: { bucket, key: name, ...(host.region && { region: host.region }), ...keysOf(user, password), style },
    class: classOf(name),
  };
}
