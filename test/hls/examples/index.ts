/** Playlists that break the rules of the HLS validator, and such that keep them: one of each for a rule. */
import type { RuleId } from '../../../src/media/hls/rules/catalog.ts';
import { ACROSS_EXAMPLES } from './across.ts';
import { DATERANGE_EXAMPLES } from './daterange.ts';
import { KEY_EXAMPLES } from './keys.ts';
import { LOW_LATENCY_EXAMPLES } from './low_latency.ts';
import { MEDIA_EXAMPLES } from './media.ts';
import { MULTIVARIANT_EXAMPLES } from './multivariant.ts';
import { RELOAD_EXAMPLES } from './reload.ts';
import { RENDITION_EXAMPLES } from './renditions.ts';
import { SYNTAX_EXAMPLES } from './syntax.ts';
import { VERSION_EXAMPLES } from './version.ts';

/**
 * Playlists by the name under which each is fetched; the first is the source. A list contains the text for each reload.
 */
export type Example = Record<string, string | string[]>;

/** A text alone is a playlist by itself. No bad one: it takes more than playlists to break the rule. */
export type Examples = { [Id in RuleId]?: readonly [bad: Example | string | undefined, good: Example | string] };

const ALL: Examples = {
  ...ACROSS_EXAMPLES,
  ...DATERANGE_EXAMPLES,
  ...KEY_EXAMPLES,
  ...LOW_LATENCY_EXAMPLES,
  ...MEDIA_EXAMPLES,
  ...MULTIVARIANT_EXAMPLES,
  ...RELOAD_EXAMPLES,
  ...RENDITION_EXAMPLES,
  ...SYNTAX_EXAMPLES,
  ...VERSION_EXAMPLES,
};

const isMain = (text: string): boolean => text.includes('#EXT-X-STREAM-INF') || text.includes('#EXT-X-MEDIA:');

const exampleOf = (given: Example | string | undefined): Example | undefined =>
  typeof given === 'string' ? { [isMain(given) ? 'main.m3u8' : 'media.m3u8']: given } : given;

export function examplesOf(id: string): { bad?: Example | undefined; good?: Example | undefined } {
  const [bad, good] = ALL[id as RuleId] ?? [];
  return { bad: exampleOf(bad), good: exampleOf(good) };
}
