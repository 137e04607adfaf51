/** The index of the search: for each word, the sections that have it and how much it says of them. */
import type { Rendered } from './markdown.ts';
import type { SearchIndex } from './search.ts';
import { wordsOf } from './words.ts';

const IN_TITLE = 9;
const IN_HEADING = 6;
/** A section is about what its page is about, too. */
const IN_TITLE_OF_PAGE = 2;
const MOST_IN_TEXT = 3;
/** Pages that explain come before those that list every field. */
const OF_REFERENCE = 0.5;
/** Of a word that is everywhere, the sections that say most of it. */
const MOST_SECTIONS = 40;

function weightsOf(title: string, heading: string | null, text: string, share: number): Map<string, number> {
  const weights = new Map<string, number>();
  const add = (word: string, weight: number): void => void weights.set(word, (weights.get(word) ?? 0) + weight);
  for (const word of wordsOf(text)) if ((weights.get(word) ?? 0) < MOST_IN_TEXT) add(word, 1);
  for (const word of new Set(wordsOf(title))) add(word, heading === null ? IN_TITLE : IN_TITLE_OF_PAGE);
  for (const word of new Set(wordsOf(heading ?? ''))) add(word, IN_HEADING);
  if (share !== 1) for (const [word, weight] of weights) weights.set(word, Math.max(1, Math.round(share * weight)));
  return weights;
}

export function searchIndex(rendered: readonly Rendered[]): SearchIndex {
  const pages = rendered.map(({ page, title }) => [page.address, title, page.description] as const);
  const sections: SearchIndex['sections'][number][] = [];
  const byWord = new Map<string, { section: number; weight: number }[]>();
  for (const [number, { page, title, parts }] of rendered.entries())
    for (const [index, { heading, text: own }] of parts.entries()) {
      const text = index === 0 ? `${page.description} ${own}` : own;
      const section = sections.push(index === 0 ? [number] : [number, heading.anchor, heading.text]) - 1;
      const share = page.address.startsWith('api/') ? OF_REFERENCE : 1;
      for (const [word, weight] of weightsOf(title, index === 0 ? null : heading.text, text, share)) {
        const all = byWord.get(word) ?? [];
        all.push({ section, weight });
        byWord.set(word, all);
      }
    }
  const words = [...byWord]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([word, all]) => {
      const kept = all
        .toSorted((a, b) => b.weight - a.weight)
        .slice(0, MOST_SECTIONS)
        .toSorted((a, b) => a.section - b.section);
      const shown = kept.map(
        ({ section, weight }, index) =>
          `${(section - (kept[index - 1]?.section ?? 0)).toString(36)}.${weight.toString(36)}`,
      );
      return [word, ...shown].join(' ');
    })
    .join('\n');
  return { pages, sections, words };
}
