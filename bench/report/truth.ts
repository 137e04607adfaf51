/**
 * What is true of a file because it was made so. Only what is certain stands here: a field that is not is not judged.
 */

/** A range where the truth has width: sound's padding may be counted or not. */
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
  /** Codes of warnings that a report of this file should have. */
  warnings: string[];
}
