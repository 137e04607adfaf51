/** Bounds of content checks, whatever the source is: together they keep the report below 1 MB. */
export const MOST_AUDIO = 8;
/** Findings of one check in one stream that are listed. Further ones are counted. */
export const MOST_EVENTS = 500;
/** Shortest passage that is reported, in seconds: the default of ffmpeg's filters. */
export const SHORTEST_S = 2;
/** Longest thresholds of passages. */
export const LONGEST_S = 86_400;
/** Longer lines are none of the printers'. */
export const LONGEST_LINE = 256;
/** Decode errors of one stream that are listed: each has a message. */
export const MOST_ERRORS = 100;
/** Longer messages of a decoder are cut. */
export const LONGEST_MESSAGE = 200;
