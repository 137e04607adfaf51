/** Whether an address in a playlist is valid. */
import { quote } from '../rule.ts';
import type { Note } from './catalog.ts';

const RELATIVE = /^[A-Za-z0-9_][A-Za-z0-9_./~!$&'()*+,;=@%?-]*$/;

export function judgeAddress(address: string, base: string, line: number, note: Note): void {
  // Fast path: a plain relative address cannot violate any rule.
  if (RELATIVE.test(address) && !address.includes('%')) return;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase();
  if (scheme !== undefined && !['http', 'https', 'data', 'skd', 'urn', 'tag'].includes(scheme)) {
    note('uri-scheme', line, `${scheme}:`);
    return;
  }
  if (!URL.canParse(address, base) && scheme !== 'urn' && scheme !== 'tag')
    note('uri-invalid', line, scheme === undefined ? quote(address.split('?')[0] ?? '') : `${scheme}:`);
  // oxlint-disable-next-line no-control-regex
  else if (/[\s"<>\\^`{|}\u0000-\u001f]|%(?![0-9A-Fa-f]{2})/.test(address)) note('uri-space', line);
}
