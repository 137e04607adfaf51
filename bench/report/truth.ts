/** The true properties of a generated file. Only certain ones are included, and others are not judged. */

/** A range if several values are true, such as with and without the padding of the sound. */
export type True = string | number | boolean | { min: number; max: number };
export interface TrueStream {
  type: 'video' | 'audio' | 'subtitle';
  values: Record<string, True>;
}
export interface Truth {
  number: number;
  damage: string;
  container: Record<string, True>;
  streams: TrueStream[];
  /** Codes of the warnings that a report of this file should have. */
  warnings: string[];
}
