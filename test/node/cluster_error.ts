/** The only error class of the local cluster, with a stable code and a text that says what to do. */
export class ClusterError extends Error {
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ClusterError';
    this.code = code;
  }
}

/** Node's own errors have a code, too. Reads it from any thrown value. */
export function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined;
}

const FULL = /no space left on device|ENOSPC|disk quota exceeded|EDQUOT/i;

/** A full disk causes many different errors. This reduces them to one line. */
export function explain(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (codeOf(error) === 'ENOSPC' || FULL.test(text))
    return `the disk is full: free some space and run the same command again\n${text}`;
  return text;
}
