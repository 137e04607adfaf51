/** Bounds of a timeline, whatever the source is: together they keep it below about 2.5 MB. */
export const MOST_STREAMS = 64;
/** Of one stream. */
export const MOST_COLUMNS = 2_000;
export const MOST_KEYS = 5_000;
export const MOST_MARKS = 500;
/** Of all streams together: each gets an equal share. */
export const ALL_KEYS = 40_000;
export const ALL_MARKS = 5_000;
/** The JSON of a timeline. */
export const MOST_BYTES = 4 * 1024 * 1024;
