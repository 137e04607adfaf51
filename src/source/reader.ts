/** Bytes in pieces: of a file, a stream or a recording. */
export interface Reader {
  /** The next piece; undefined at the end. */
  next(): Promise<Buffer | undefined>;
  close(): void;
}
