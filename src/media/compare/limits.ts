/** Bounds of a comparison, and the kinds of its changes. Without the schemas, which the agent does not load. */

/** Most fields that are told, and most characters of a path, of a value and of the whole text of a comparison. */
export const MOST_FIELDS = 500;
export const LONGEST_PATH = 300;
export const LONGEST_VALUE = 200;
/**
 * Below what a stored result lifts out of its JSON (src/service/result/lift.ts), so that it is always read as it is.
 */
export const MOST_TEXT = 192 * 1024;

/** The strongest change first: that of a field over more than two runs. */
export const CHANGES = ['type', 'value', 'renamed', 'removed', 'added', 'rounding'] as const;
export type Change = (typeof CHANGES)[number];

export const LEVELS = ['canonical', 'raw'] as const;
export type Level = (typeof LEVELS)[number];
