/** Bounds of content checks, whatever the source is: they keep the report below 2 MB, and pictures below 200 kB. */
export const MOST_REPORT_BYTES = 2_000_000;
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
/** A longer reason why checks ended early is cut. */
export const LONGEST_CUT = 1_000;
/** Longer messages of a decoder are cut. */
export const LONGEST_MESSAGE = 200;
/** Wrong pages of Ogg, of up to 65 kB each, after which no more are looked for. */
export const MOST_WRONG_PAGES = 100;
/** Of the pictures that are kept. */
export const MOST_PICTURES = 24;
/** Longest side of a picture, in pixels. */
export const PICTURE_SIDE = 160;
/** Of one picture as JPEG. A larger one is left out. */
export const MOST_PICTURE_BYTES = 6_000;
/** Values of a waveform. */
export const MOST_PEAKS = 400;
/** Of pictures and waveforms together, as JSON. */
export const MOST_STORED_BYTES = 256 * 1024;
/** Of the file of pictures, as it is printed. */
export const MOST_FILE_BYTES = 1024 * 1024;
