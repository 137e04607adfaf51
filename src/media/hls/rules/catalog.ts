/** All rules. */
import type { Rule } from '../rule.ts';
import { ACROSS_RULES } from './across.ts';
import { DATERANGE_RULES } from './daterange.ts';
import { KEY_RULES } from './keys.ts';
import { LOW_LATENCY_RULES } from './low_latency.ts';
import { MEASURED_RULES } from './measured.ts';
import { MEDIA_RULES } from './media.ts';
import { MULTIVARIANT_RULES } from './multivariant.ts';
import { RELOAD_RULES } from './reload.ts';
import { RENDITION_RULES } from './renditions.ts';
import { SYNTAX_RULES } from './syntax.ts';
import { VERSION_RULES } from './version.ts';

/** By chapter of the documentation. */
export const CHAPTERS = {
  'The text': SYNTAX_RULES,
  'Protocol version': VERSION_RULES,
  'Media playlists': MEDIA_RULES,
  Keys: KEY_RULES,
  'Date ranges and interstitials': DATERANGE_RULES,
  'Low latency': LOW_LATENCY_RULES,
  'Multivariant playlists': MULTIVARIANT_RULES,
  Renditions: RENDITION_RULES,
  'Across playlists': ACROSS_RULES,
  'Reloads of a live playlist': RELOAD_RULES,
  'Measured on segments': MEASURED_RULES,
} as const;

type Chapter = (typeof CHAPTERS)[keyof typeof CHAPTERS];
/** `keyof` of a union has the keys of all its members only one by one. */
type IdIn<C> = C extends C ? keyof C : never;
export type RuleId = IdIn<Chapter>;
export const RULES = Object.assign({}, ...Object.values(CHAPTERS)) as Readonly<Record<RuleId, Rule>>;

/** The code under which Apple's mediastreamvalidator reports the same, as far as outputs of it are public. */
export const APPLE_CODES: Readonly<Partial<Record<RuleId, number>>> = {
  'part-hold-back-short': -50102,
  'reports-missing': -50125,
  'resolution-measured': -50020,
  'video-range-missing': -50085,
};

/** Notes a violation of a rule; `detail` describes it. */
export type Note = (rule: RuleId, line: number, detail?: string, column?: number) => void;
