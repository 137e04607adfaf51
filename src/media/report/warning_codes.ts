/** The code of every warning that a report may have (docs/report.md). */
export const WARNING_CODES = [
  'broken-timestamps',
  'color-mismatch',
  'conformance',
  'container-mismatch',
  'encrypted',
  'extension-mismatch',
  'late-start',
  'no-duration',
  'no-picture-size',
  'no-sample-rate',
  'odd-color',
  'single-source',
  'size-mismatch',
  'stream-seen-by-one',
  'trailing-data',
  'truncated',
  'uncertain-format',
  'unknown-codec',
  'variable-frame-rate',
  'wrong-duration',
] as const;
export type WarningCode = (typeof WARNING_CODES)[number];
