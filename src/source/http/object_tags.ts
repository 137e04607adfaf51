/** Tags of an S3 object: ours are written beside the others, if the object is still the one that was read. */
import { createHash } from 'node:crypto';
import { escapeXml, unescapeText, xmlTags } from '../../base/xml.ts';
import { encodeStrictly } from '../address/s3.ts';
import { type Target, urlOf } from '../address/target.ts';
import { unreachable } from '../error.ts';
import { askSigned, drop, exchange, type Exchange } from './exchange.ts';
import { readHead } from './head.ts';

export interface Tagged {
  written: boolean;
  /** Why not. */
  code?: string;
  message?: string;
}

export const untagged = (code: string, message: string): Tagged => ({ written: false, code, message });

/** Of one object, by S3. */
const MOST_TAGS = 10;
/** Ten tags of 128 and 256 characters, each as an entity, take a third of it. */
const MOST_BYTES = 128 * 1024;

/** Each tag as the host wrote it, by its key: what is sent back is what was there. */
export function tagsIn(xml: string): Map<string, string> {
  const found = new Map<string, string>();
  let [tagAt, keyAt, isSet]: [number, number, boolean] = [-1, -1, false];
  let key: string | undefined;
  for (const { kind, name, from, to } of xmlTags(xml)) {
    isSet ||= name === 'TagSet' && kind !== 'open';
    if (name === 'Tag' && kind === 'open') [tagAt, key] = [from, undefined];
    else if (name === 'Key' && kind === 'open') keyAt = to;
    else if (name === 'Key' && kind === 'close' && keyAt !== -1)
      // Each begin is used once: 128 KiB of ends took 2 s.
      [key, keyAt] = [unescapeText(xml.slice(keyAt, from)), -1];
    else if (name === 'Tag' && kind === 'close' && tagAt !== -1 && key !== undefined) {
      found.set(key, xml.slice(tagAt, to));
      tagAt = -1;
    }
  }
  if (!isSet) throw unreachable('protocol', 'the host does not answer with the tags of the object');
  return found;
}

const written = (tags: Readonly<Record<string, string>>): string[] =>
  Object.entries(tags).map(
    ([key, value]) => `<Tag><Key>${escapeXml(key)}</Key><Value>${escapeXml(value)}</Value></Tag>`,
  );

/**
 * S3 has no condition for tags. With versions, those of the version are written that was read. Without, an object that
 * is replaced between the first request and the last gets the tags of the one before; so do tags that others write
 * meanwhile. Throws a SourceError.
 */
export async function tagObject(
  context: Exchange,
  main: Target,
  { identity, tags }: { identity: string; tags: Readonly<Record<string, string>> },
): Promise<Tagged> {
  const { response, target } = await exchange(context, main, { range: 'bytes=0-0' });
  const head = readHead(response, urlOf(target));
  drop(response);
  if (head.identity !== identity) return untagged('changed', 'the object was replaced after it was read');
  const version = response.headers['x-amz-version-id'];
  const asked = typeof version === 'string' && version !== 'null' ? `&versionId=${encodeStrictly(version)}` : '';
  const place = { ...target, path: `${target.path.split('?')[0]}?tagging${asked}` };
  const all = tagsIn(await askSigned(context, place, MOST_BYTES));
  for (const key of Object.keys(tags)) all.delete(key);
  const others = all.size;
  if (others + Object.keys(tags).length > MOST_TAGS)
    return untagged('no-room', `the object has ${others} other tags, and S3 keeps at most ${MOST_TAGS}`);
  const body = Buffer.from(
    `<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet>${[...all.values(), ...written(tags)].join('')}` +
      '</TagSet></Tagging>',
  );
  const md5 = createHash('md5').update(body).digest('base64');
  await askSigned(context, place, MOST_BYTES, {
    body,
    headers: { 'content-type': 'application/xml', 'content-md5': md5 },
  });
  return { written: true };
}
