/** What was judged, in the form that every report for CI systems is made from. */

export interface Finding {
  rule: string;
  outcome: 'pass' | 'fail' | 'warn' | 'unknown' | 'not-applicable' | 'waived';
  /** Whether it decides the exit code: a warning does not. */
  blocking: boolean;
  message: string;
  /** More of the same, and how it was found out. */
  detail?: string;
  expected?: string;
  /** What to do about it. */
  remedy?: string;
  /** The rule as a sentence, whatever it found here, and the page that describes it. */
  about?: { text: string; url: string };
  /** A stream and a field. */
  place?: string;
  /** A line of a playlist. */
  url?: string;
  line?: number;
  /** Who accepts it, and why. */
  waived?: string;
  /** Single values for programs. */
  facts?: Readonly<Record<string, unknown>>;
}

export interface Judged {
  /** An address without credentials, or a request id. */
  subject: string;
  /** The subject is a file of the caller, and its path is this. */
  path?: string;
  /** The policy, or the validator. */
  by: string;
  outcome: string;
  findings: readonly Finding[];
  /** Why there is no finding: the source could not be read, the service was away. */
  error?: string;
}

export const isFailure = ({ outcome, blocking }: Finding): boolean =>
  blocking && (outcome === 'fail' || outcome === 'warn');
export const isError = ({ outcome, blocking }: Finding): boolean => blocking && outcome === 'unknown';
export const isWarning = ({ outcome, blocking }: Finding): boolean =>
  !blocking && (outcome === 'fail' || outcome === 'warn' || outcome === 'unknown');
