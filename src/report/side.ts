/**
 * What one tool says of a file, in words that both share: flat fields by their path, absent where it says nothing.
 * A report has two sides, one for each tool that it compares.
 */
import { REPORT_TOOLS, type ReportTool } from '../tools/probe_report.ts';
import { valueOf } from './normalise/ratio.ts';
import type { WarningCode } from './warning_codes.ts';

/** One value for each of the two tools. */
export type Sides<T> = Record<ReportTool, T>;

export const [FIRST, SECOND] = REPORT_TOOLS;
/** Written out, for one shape of all of them: computed names made a report take a tenth longer. */
export const sides = <T>(of: (tool: ReportTool) => T): Sides<T> => ({
  ffprobe: of('ffprobe'),
  mediainfo: of('mediainfo'),
});
export const bothOf = <T>(values: Sides<T>): [T, T] => [values[FIRST], values[SECOND]];
/** What the first says; where it says nothing, what the second says. */
export const eitherOf = <T>(values: Sides<T | undefined>): T | undefined => values[FIRST] ?? values[SECOND];
export const otherThan = (tool: ReportTool): ReportTool => (tool === FIRST ? SECOND : FIRST);

export type StreamType = 'video' | 'audio' | 'subtitle' | 'data' | 'attachment';
export type Field = string | number | boolean;
export type Fields = Record<string, Field>;

export interface SideStream {
  type: StreamType;
  /** Place among the tool's own streams. */
  order: number;
  /** The container's own number of it (track, PID), where the tool names it. */
  id: number | undefined;
  fields: Fields;
  /** Lies within another stream (captions in a picture), so that the other tool may well count no stream. */
  embedded?: boolean;
  /** A cover: no stream of its own for one of the tools, and none for the flat fields. */
  picture?: boolean;
  /** A playlist's variant or a program that it is part of. */
  program?: number;
}

export interface Side {
  tool: ReportTool;
  version: string;
  container: Fields;
  streams: SideStream[];
  chapters: { start: number; end?: number; title?: string }[];
  /** What the tool itself finds strange, in our words. */
  signs: Sign[];
}

/** Evidence for warnings: kept apart from fields, because the other tool need not have it. */
export interface Sign {
  code: WarningCode;
  detail: string;
  stream?: SideStream;
}

export const number = (fields: Fields | undefined, path: string): number | undefined => valueOf(fields?.[path]);
/** A field as the first of the two tools that has it tells it. */
export const told = (said: Sides<Fields | undefined>, path: string): Field | undefined =>
  eitherOf(sides((tool) => said[tool]?.[path]));
export const toldNumber = (said: Sides<Fields | undefined>, path: string): number | undefined =>
  eitherOf(sides((tool) => number(said[tool], path)));
