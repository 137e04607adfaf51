/** `s3://KEY:SECRET@BUCKET/PATH`: an object in Amazon S3, or in the installation's own S3 service. */
import { keysOf, splitObject } from '../address/bucket.ts';
import { encodeKey } from '../address/s3.ts';
import { classOf } from '../address/text.ts';
import type { Protocol } from './protocol.ts';

/** Without credentials, `@` and `:` may occur in the path. */
const WITH_KEYS = /^([^/?#@:]+):([^@]*)@(.*)$/s;

export const s3: Protocol = {
  schemes: { s3: { countsAs: 's3' } },
  parse(text, scheme) {
    const [, user, secret = '', rest = text] = WITH_KEYS.exec(text) ?? [];
    const { bucket, key, query } = splitObject(rest, scheme);
    return {
      scheme,
      url: `${scheme}://${bucket}/${encodeKey(key)}${query}`,
      s3: { bucket, key, ...(user === undefined ? {} : keysOf(user, secret)) },
      class: classOf(key),
    };
  },
  webUrl({ url, s3: object }, { endpoint }) {
    const { bucket = '', key = '', region } = object ?? {};
    const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
    const name = `${encodeKey(key)}${query}`;
    if (endpoint !== undefined) return `${endpoint.replace(/\/+$/, '')}/${bucket}/${name}`;
    const host = region === undefined || region === 'us-east-1' ? 's3.amazonaws.com' : `s3.${region}.amazonaws.com`;
    // A bucket with dots or capitals matches no wildcard certificate and no host name.
    return /^[a-z0-9-]+$/.test(bucket) ? `https://${bucket}.${host}/${name}` : `https://${host}/${bucket}/${name}`;
  },
};
