/** `gs://BUCKET/PATH`: a publicly readable object of Google Cloud Storage. */
import { splitObject } from '../address/bucket.ts';
import { encodeKey } from '../address/s3.ts';
import { classOf } from '../address/text.ts';
import type { Protocol } from './protocol.ts';

const ORIGIN = 'https://storage.googleapis.com';

export const gs: Protocol = {
  schemes: { gs: { countsAs: 'https' } },
  parse(text, scheme) {
    const { bucket, key, query } = splitObject(text, scheme);
    return { scheme, url: `${scheme}://${bucket}/${encodeKey(key)}${query}`, class: classOf(key) };
  },
  webUrl: ({ url }) => url.replace('gs:/', ORIGIN),
};
