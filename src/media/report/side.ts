/**
 * One tool's view of a file in the vocabulary of both: flat fields by path, absent if unknown. A report has two sides,
 * one for each compared tool.
 */
import { REPORT_TOOLS, type ReportTool } from '../tools/probe_report.ts';
import { valueOf } from './normalise/ratio.ts';
import type { WarningCode } from './warning_codes.ts';

/** One value for each of the two tools. */
export type Sides<T> = Record<ReportTool, T>;

export const [FIRST, SECOND] = REPORT_TOOLS;
/** Written out so that all have the same object shape: computed names made a report take a tenth longer. */
export const sides = <T>(of: (tool: ReportTool) => T): Sides<T> => ({
  ffprobe: of('ffprobe'),
  mediainfo: of('mediainfo'),
});
export const bothOf = <T>(values: Sides<T>): [T, T] => [values[FIRST], values[SECOND]];
/** The first tool's value, or the second's if the first has none. */
export const eitherOf = <T>(values: Sides<T | undefined>): T | undefined => values[FIRST] ?? values[SECOND];
export const otherThan = (tool: ReportTool): ReportTool => (tool === FIRST ? SECOND : FIRST);

export const STREAM_TYPES = ['video', 'audio', 'subtitle', 'data', 'attachment'] as const;
export type StreamType = (typeof STREAM_TYPES)[number];
export type Field = string | number | boolean;
export type Fields = Record<string, Field>;

/** Captions inside the pictures of a video. */
export interface Caption {
  /** `a53`: one of the others, which cannot be told. */
  kind: 'a53' | 'cea-608' | 'cea-708';
  /** The channel of CEA-608 (`CC1`), or the service of CEA-708 (`1`). */
  service?: string;
  /** In seconds. */
  first_time?: number;
}

export interface SideStream {
  type: StreamType;
  /** Position among the tool's own streams. */
  order: number;
  /** The container's own stream number (track, PID), if the tool reports it. */
  id: number | undefined;
  fields: Fields;
  /** Contained in another stream (captions in a picture), so the other tool may not count it. */
  embedded?: boolean;
  /** Captions that the tool lists as a stream in another one, or of a video that carries some. */
  caption?: Caption;
  /** A cover: one of the tools does not count it as a stream, and it is left out of the flat fields. */
  picture?: boolean;
  /** The playlist variant or program that it belongs to. */
  program?: number;
}

export interface Side {
  tool: ReportTool;
  version: string;
  container: Fields;
  streams: SideStream[];
  chapters: { start: number; end?: number; title?: string }[];
  /** Anomalies that the tool itself reports, in our words. */
  signs: Sign[];
  /** It has data for the decryption of a stream, and does not say of which one. */
  isProtected?: boolean;
}

/** Evidence for warnings. Not a field, because the other tool may have no equivalent. */
export interface Sign {
  code: WarningCode;
  detail: string;
  stream?: SideStream;
}

export const number = (fields: Fields | undefined, path: string): number | undefined => valueOf(fields?.[path]);
/** The value of the first tool that has the field. */
export const told = (said: Sides<Fields | undefined>, path: string): Field | undefined =>
  eitherOf(sides((tool) => said[tool]?.[path]));
export const toldNumber = (said: Sides<Fields | undefined>, path: string): number | undefined =>
  eitherOf(sides((tool) => number(said[tool], path)));
