/** What a policy may hold, and how much work it may make. A policy is a tenant's text: nothing in it is trusted. */

/** Bytes of a policy as JSON or YAML, and of its canonical JSON. */
export const MOST_BYTES = 64 * 1024;
/** Bytes of a MediaConch policy, before it is translated. */
export const MOST_XML_BYTES = 1024 * 1024;
export const MOST_RULES = 200;
/** Groups and `when` within one another. */
export const MOST_DEPTH = 8;
/** Members of one group. */
export const MOST_CONDITIONS = 100;
/** Values of one operator, and patterns of one list. */
export const MOST_VALUES = 100;
export const LONGEST_NAME = 100;
export const LONGEST_TEXT = 500;
export const LONGEST_GLOB = 100;
export const LONGEST_PATH = 300;
/** Segments of a raw path. */
export const MOST_SEGMENTS = 16;

/** Characters of a value that are compared; more are cut. */
export const LONGEST_COMPARED = 1000;
/** Characters of a value that a result shows. */
export const LONGEST_SHOWN = 200;
/** Streams of one rule that a result names; the rest are counted. */
export const MOST_TOLD = 4;
/** Output of a tool that is parsed for raw paths: 16 Mi characters. */
export const MOST_OUTPUT = 16 * 1024 * 1024;
export const TOO_LARGE = ' '.repeat(MOST_OUTPUT + 1);
/**
 * Steps of one evaluation: a comparison, an element that a raw path visits, 16 characters that a glob reads. 100 rules
 * over 50 streams take 10,000. What is left when they are used up is unknown.
 */
export const MOST_STEPS = 500_000;
