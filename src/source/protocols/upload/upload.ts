/** A file that was sent with its request: read from the API replica that holds it. It has no address to be named by. */
import type { UploadPlace } from '../../upload/place.ts';
import { SourceError } from '../../error.ts';
import { encodeStrictly } from '../../address/s3.ts';
import { classOf } from '../../address/text.ts';
import type { Source } from '../../source.ts';
import type { Protocol } from '../protocol.ts';

export const SCHEME = 'upload';
const MOST_NAME = 200;

export const upload: Protocol = {
  schemes: { [SCHEME]: { countsAs: 'http' } },
  parse() {
    throw new SourceError('source-scheme', `${SCHEME}:// sources cannot be read`);
  },
  open: async (context) => (await import('./transport.ts')).uploadTransport(context),
};

/** `name`: as the caller gave it; only its last segment is kept. */
export function uploadSource(name: string, place: UploadPlace): Source {
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1).toWellFormed();
  const kept = last
    .replaceAll(/\p{Cc}/gu, '')
    .slice(-MOST_NAME)
    .toWellFormed();
  const shown = kept === '' || kept === '.' || kept === '..' ? 'file' : kept;
  return { scheme: SCHEME, url: `${SCHEME}:///${encodeStrictly(shown)}`, upload: place, class: classOf(shown) };
}
