/** Rules for the keys of a media playlist, and for session keys. */
import { tagsOf, text, type Playlist } from '../playlist.ts';
import { info, must, quote, should, type Rule } from '../rule.ts';
import type { Note } from './catalog.ts';

export const KEY_RULES = {
  'key-uri': must('4.4.4.4')`A key has no address. Add the URI of the key.`,
  'key-none': must('4.4.4.4')`A key of the method NONE has other attributes.
    Remove the other attributes, or name the method.`,
  'key-iv': must('4.4.4.4')`An initialization vector does not have 128 bits. Write 0x and 32 hexadecimal digits.`,
  'key-formatversions': must('4.4.4.4')`KEYFORMATVERSIONS is not whole numbers separated by slashes.
    Write numbers separated by slashes: 1/2.`,
  'key-format-aes128': must('4.4.4.4')`A key of AES-128 has a KEYFORMAT other than identity.
    Set KEYFORMAT to identity, or use SAMPLE-AES.`,
  'key-iv-reused': should('4.4.4.4')`
    A key with a fixed initialization vector is used more than once, which reveals what segments share.
    Leave IV out: the sequence number is used then. Or change the key.`,
  'key-unused': info('4.4.4.4')`A key applies to no segment. Remove the EXT-X-KEY.`,
  'key-clear': should('4.4.4.4')`A key is not fetched over HTTPS. Serve keys over HTTPS.`,
} satisfies Record<string, Rule>;

export function judgeKeys(playlist: Playlist, note: Note): void {
  for (const tag of tagsOf(playlist, 'EXT-X-KEY')) judgeKey(tag, note);
  const seen = new Set<unknown>();
  for (const { keys } of playlist.segments) {
    for (const key of keys) {
      if (seen.has(key)) continue;
      seen.add(key);
      if (key.method === 'AES-128' && key.iv !== undefined && key.used > 1)
        note('key-iv-reused', key.tag.line, `${key.used} segments`);
    }
  }
  const used = new Set([...seen].map((key) => (key as { tag: unknown }).tag));
  const last = playlist.segments.at(-1)?.line ?? 0;
  if (playlist.ended)
    for (const tag of tagsOf(playlist, 'EXT-X-KEY'))
      if (text(tag, 'METHOD') !== 'NONE' && tag.line > last && !used.has(tag)) note('key-unused', tag.line);
}

/** Rules common to EXT-X-KEY and EXT-X-SESSION-KEY. */
export function judgeKey(tag: Playlist['tags'][number], note: Note): void {
  const { attributes, line } = tag;
  const method = text(tag, 'METHOD');
  if (method === 'NONE') {
    if (attributes.size > 1) note('key-none', line);
    return;
  }
  const uri = text(tag, 'URI');
  if (uri === undefined) note('key-uri', line);
  else if (uri.startsWith('http://')) note('key-clear', line);
  const iv = text(tag, 'IV');
  if (iv !== undefined && /^0[xX][0-9A-Fa-f]+$/.test(iv) && iv.length !== 34)
    note('key-iv', line, `${(iv.length - 2) * 4} bits`);
  const versions = text(tag, 'KEYFORMATVERSIONS');
  if (versions !== undefined && !/^[1-9]\d*(\/[1-9]\d*)*$/.test(versions))
    note('key-formatversions', line, quote(versions));
  const format = text(tag, 'KEYFORMAT');
  if (method === 'AES-128' && format !== undefined && format !== 'identity')
    note('key-format-aes128', line, quote(format));
}
