/** Bytes whose memory is reused after their release. A piece that is never released keeps it. */
export interface Piece {
  readonly bytes: Buffer;
  release(): void;
}

/** Bytes in pieces: of a file, a stream or a recording. */
export interface Reader {
  /** The next piece; undefined at the end. */
  next(): Promise<Piece | undefined>;
  close(): void;
}
