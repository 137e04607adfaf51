/** Bounds of content checks, whatever the source is: together they keep the report below 1 MB. */
export const MOST_AUDIO = 8;
/** Findings of one check in one stream that are listed. Further ones are counted. */
export const MOST_EVENTS = 500;
/** Longer lines are none of the printers'. */
export const LONGEST_LINE = 256;
