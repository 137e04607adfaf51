/** Bytes as they come, one piece at a time: of a file in pages, of a stream, of a recording. */
export interface Reader {
  /** The next piece; undefined at the end. */
  next(): Promise<Buffer | undefined>;
  close(): void;
}
