/** Errors of building images. `code` is for programs, the message for the user at the terminal. */
export type ImageErrorCode =
  | 'CATALOG_INVALID'
  | 'COMMAND_FAILED'
  | 'COMMAND_NOT_FOUND'
  | 'SOURCE_UNAVAILABLE'
  | 'CHECKSUM_MISMATCH'
  | 'CHECKSUM_UNKNOWN'
  | 'LIBRARY_MISSING'
  | 'ARCHIVE_INVALID'
  | 'KEY_INVALID'
  | 'NOT_COMMITTED';

export class ImageError extends Error {
  readonly code: ImageErrorCode;

  constructor(code: ImageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ImageError';
    this.code = code;
  }
}
