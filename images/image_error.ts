/** What goes wrong while images are made. `code` is for programs, the message for the person at the terminal. */
export type ImageErrorCode =
  | 'CATALOG_INVALID'
  | 'COMMAND_FAILED'
  | 'COMMAND_NOT_FOUND'
  | 'SOURCE_UNAVAILABLE'
  | 'CHECKSUM_MISMATCH'
  | 'CHECKSUM_UNKNOWN'
  | 'LIBRARY_MISSING'
  | 'ARCHIVE_INVALID';

export class ImageError extends Error {
  readonly code: ImageErrorCode;

  constructor(code: ImageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ImageError';
    this.code = code;
  }
}
