/** Finds sections by words. It runs in the browser. */
import { SYNONYMS, wordsOf } from './words.ts';

export interface SearchIndex {
  /** Address, title and description. */
  pages: readonly (readonly [string, string, string])[];
  /** Number of the page, anchor and heading; the first of a page has neither. */
  sections: readonly (readonly [number, string, string] | readonly [number])[];
  /** `word 4.1 7.3 …`, sorted: distance from the section before, in base 36, and the weight. */
  words: string;
}

export interface Found {
  address: string;
  title: string;
  /** Of the section; empty for the page as a whole. */
  heading: string;
  description: string;
}

const MOST_FOUND = 12;
const SHARE_OF_SYNONYM = 0.6;

interface Entry {
  word: string;
  weights: ReadonlyMap<number, number>;
}

function entriesOf(words: string): Entry[] {
  return words.split('\n').map((line) => {
    const [word = '', ...shown] = line.split(' ');
    let section = 0;
    const weights = shown.map((one) => {
      const [distance = '', weight = ''] = one.split('.');
      section += Number.parseInt(distance, 36);
      return [section, Number.parseInt(weight, 36)] as const;
    });
    return { word, weights: new Map(weights) };
  });
}

/** A rare word says more than a frequent one; the word itself more than one that begins with it. */
function scoresOf(entries: readonly Entry[], word: string): Map<number, number> {
  const scores = new Map<number, number>();
  for (const entry of entries) {
    if (!entry.word.startsWith(word)) continue;
    const share = entry.word === word ? 1 : 0.4;
    for (const [section, weight] of entry.weights) {
      const score = (share * weight) / Math.log2(2 + entry.weights.size);
      scores.set(section, Math.max(scores.get(section) ?? 0, score));
    }
  }
  return scores;
}

/** The word as it is asked for, and what the pages call it. */
function scoresOfMeaning(entries: readonly Entry[], word: string): Map<number, number> {
  const scores = scoresOf(entries, word);
  const synonym = Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word] : undefined;
  if (synonym === undefined) return scores;
  for (const [section, score] of scoresOf(entries, synonym))
    scores.set(section, Math.max(scores.get(section) ?? 0, SHARE_OF_SYNONYM * score));
  return scores;
}

export function makeSearch({ pages, sections, words }: SearchIndex): (query: string) => Found[] {
  const entries = entriesOf(words);
  return (query) => {
    const asked = [...new Set(wordsOf(query))];
    const scores = asked.map((word) => scoresOfMeaning(entries, word));
    const total = new Map<number, { score: number; matches: number }>();
    for (const one of scores)
      for (const [section, score] of one) {
        const { score: before, matches } = total.get(section) ?? { score: 0, matches: 0 };
        total.set(section, { score: before + score, matches: matches + 1 });
      }
    return [...total]
      .toSorted(([, a], [, b]) => b.matches - a.matches || b.score - a.score)
      .slice(0, MOST_FOUND)
      .map(([number]) => {
        const [page, anchor = '', heading = ''] = sections[number]!;
        const [address, title, description] = pages[page]!;
        return { address: `/docs/${address}${anchor === '' ? '' : `#${anchor}`}`, title, heading, description };
      });
  };
}
