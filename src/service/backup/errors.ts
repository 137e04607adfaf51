import { CodedError } from '../../base/coded_error.ts';

/** Messages never contain a key. */
export class BackupError extends CodedError<
  | 'key-invalid'
  | 'key-wrong'
  | 'damaged'
  | 'cut-short'
  | 'not-a-backup'
  | 'other-version'
  | 'keys-missing'
  | 'keys-differ'
  | 'not-found'
  | 'destination'
> {}

export const isBackupError = (error: unknown, ...codes: BackupError['code'][]): error is BackupError =>
  error instanceof BackupError && (codes.length === 0 || codes.includes(error.code));
