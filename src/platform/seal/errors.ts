export type SealCode = 'seal-no-key' | 'seal-unreadable' | 'seal-unknown-key' | 'seal-other-request';

/** Messages never contain a source or a key, because they may be logged. */
export class SealError extends Error {
  readonly code: SealCode;
  constructor(code: SealCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SealError';
    this.code = code;
  }
}

export const isSealError = (error: unknown): error is SealError => error instanceof SealError;
