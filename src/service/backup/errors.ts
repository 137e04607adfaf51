export type BackupCode =
  | 'key-invalid'
  | 'key-wrong'
  | 'damaged'
  | 'cut-short'
  | 'not-a-backup'
  | 'other-version'
  | 'keys-missing'
  | 'keys-differ'
  | 'not-found'
  | 'destination';

/** Messages never contain a key. */
export class BackupError extends Error {
  readonly code: BackupCode;
  constructor(code: BackupCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BackupError';
    this.code = code;
  }
}

export const isBackupError = (error: unknown, ...codes: BackupCode[]): error is BackupError =>
  error instanceof BackupError && (codes.length === 0 || codes.includes(error.code));
