/** What is counted of many files: a few short values by facet. */
import { LONGEST_NAME } from './limits.ts';

/** By the name that callers filter by. */
export const FACETS = {
  container: 'The container, as `probe_report` names it.',
  video_codec: 'Codecs of the video streams, without covers.',
  audio_codec: 'Codecs of the audio streams.',
  hdr: 'What the first video follows: HDR10+, HDR10, PQ, HLG or Dolby Vision; SDR where nothing tells of HDR.',
  policy: 'The outcome of the policy.',
  rule: 'Rules of the policy that did not pass, each with its outcome: `fail: bitrate`.',
} as const;
export type Facet = keyof typeof FACETS;
export const FACET_NAMES = Object.keys(FACETS) as Facet[];
export type Facets = Partial<Record<Facet, string[]>>;

/** A result may have others: its runner is a later one, or not to be trusted. */
export const knownFacets = (facets: Facets): Facets =>
  Object.fromEntries(FACET_NAMES.flatMap((name) => (facets[name] ? [[name, facets[name]]] : [])));

/** Of one file. */
export const MOST_VALUES = 20;
/** Printable ASCII: a name of a rule, with its outcome, is the longest. */
export const LONGEST_VALUE = LONGEST_NAME + 20;
export const VALUE_PATTERN = `^[ -~]{1,${LONGEST_VALUE}}$`;
