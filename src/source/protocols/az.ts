/** `az://ACCOUNT/CONTAINER/PATH`: a blob of Azure Storage, public or read with a named credential. */
import { splitObject } from '../address/bucket.ts';
import { encodeKey } from '../address/s3.ts';
import { classOf, invalid } from '../address/text.ts';
import type { Protocol } from './protocol.ts';

const ACCOUNT = /^[a-z0-9]{3,24}$/;
const CONTAINER = /^(?:\$root|[a-z0-9](?:-?[a-z0-9]){2,62})$/;

export const az: Protocol = {
  schemes: { az: { countsAs: 'https' } },
  parse(text, scheme) {
    const { bucket: account, key, query } = splitObject(text, scheme);
    const container = key.slice(0, Math.max(0, key.indexOf('/')));
    if (!ACCOUNT.test(account) || !CONTAINER.test(container) || key.length === container.length + 1)
      throw invalid('url must name an account, a container and a path: az://ACCOUNT/CONTAINER/PATH');
    return { scheme, url: `${scheme}://${account}/${encodeKey(key)}${query}`, class: classOf(key) };
  },
  webUrl: ({ url }) => url.replace(/^az:\/\/([a-z0-9]+)\//, 'https://$1.blob.core.windows.net/'),
};
