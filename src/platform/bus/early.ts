/**
 * Times of an early start: a runner begins the tools of a request while its ProbeJob is still being created, and keeps
 * what they print until the job is admitted (docs/decisions/0004-tools-begin-before-the-admission.md).
 */

/** What was begun and not confirmed is ended by the launcher this long after its number was made (EARLY_MS there). */
export const EARLY_MS = 1_500;
/** From then on nothing that was begun is left: the kill itself, and clocks of different rates. */
export const EARLY_OVER_MS = EARLY_MS + 500;
/**
 * Remaining lease time that a leader needs to send `begin`, after it has the number: what it begins ends within its
 * term, even if the same process leads again a second later.
 */
export const EARLY_TERM_MS = EARLY_OVER_MS + 1_000;
/** A deleted Lease is not created anew for this long: its holder may have begun something just before. */
export const EARLY_QUIET_MS = EARLY_TERM_MS;
