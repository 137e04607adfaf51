/** Keys, init sections and parts, derived from their tags. */
import { byteRange, numeric } from './figures.ts';
import { text, type InitSection, type Key, type Part, type Tag } from './playlist.ts';

export const keyOf = (tag: Tag): Key => ({
  tag,
  method: text(tag, 'METHOD') ?? '',
  uri: text(tag, 'URI'),
  iv: text(tag, 'IV'),
  format: text(tag, 'KEYFORMAT') ?? 'identity',
  used: 0,
});

export function initSectionOf(tag: Tag, keys: readonly Key[]): InitSection {
  const range = byteRange(text(tag, 'BYTERANGE') ?? '');
  return {
    tag,
    uri: text(tag, 'URI') ?? '',
    range: range === undefined ? undefined : { length: range.length, offset: range.offset ?? 0 },
    keys,
  };
}

export const partOf = (tag: Tag): Part => ({
  uri: text(tag, 'URI') ?? '',
  line: tag.line,
  duration: numeric(text(tag, 'DURATION')) ?? 0,
  independent: text(tag, 'INDEPENDENT') === 'YES',
  gap: text(tag, 'GAP') === 'YES',
  range: byteRange(text(tag, 'BYTERANGE') ?? ''),
});
