/** Bounds and defaults of a request's times, in milliseconds: for the API, the custom resources and the controller. */

/** The longest analysis, and the longest run of one tool. */
export const MAX_TIMEOUT_MS = 650_000;
/** An analysis whose caller names no time. */
export const TIMEOUT_MS = 65_000;
/** A tool whose caller names no time. */
export const TOOL_TIMEOUT_MS = 60_000;
/** The longest wait in the queue, and that of a request that names none. */
export const MAX_QUEUE_MS = 60_000;
