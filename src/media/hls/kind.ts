/** Whether a text is a playlist, by its first line, and its kind, by its tags. */
import { TAGS } from './grammar.ts';
import type { Playlist } from './playlist.ts';
import { quote } from './rule.ts';
import type { Note } from './rules/catalog.ts';

export function kindOf(
  { counts, segments, variants }: Pick<Playlist, 'counts' | 'segments' | 'variants'>,
  note: Note,
): Playlist['kind'] {
  let kind: Playlist['kind'] = 'unknown';
  const deciding = [...counts].filter(([name]) => TAGS.get(name)?.decides);
  const media = deciding.find(([name]) => TAGS.get(name)?.in === 'media');
  const multivariant = deciding.find(([name]) => TAGS.get(name)?.in === 'multivariant');
  if (media !== undefined && multivariant !== undefined) {
    note('playlist-mixed', Math.max(media[1].line, multivariant[1].line), `${media[0]} and ${multivariant[0]}`);
    kind =
      media[1].line < multivariant[1].line && segments.length > 0 && variants.length === 0 ? 'media' : 'multivariant';
  } else if (multivariant !== undefined) kind = 'multivariant';
  else if (media !== undefined || segments.length > 0) kind = 'media';
  return kind;
}

export function judgeFirstLine(content: string, note: Note): void {
  if (!content.startsWith('#EXTM3U'))
    note(
      'not-a-playlist',
      1,
      /^\s*<(!doctype|html|\?xml|head|body)/i.test(content)
        ? 'it is a page of HTML or XML'
        : `the first line is ${quote(content)}`,
    );
  // Without #EXTM3U, the next three lines show whether it is meant to be a playlist.
  else if (content.trimEnd() !== '#EXTM3U') note('tag-value', 1, 'EXTM3U takes no value');
}
