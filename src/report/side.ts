/** What one tool says of a file, in words that both share: flat fields by their path, absent where it says nothing. */

export type ReportTool = 'ffprobe' | 'mediainfo';
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
  /** A cover: no stream of its own for mediainfo, and none for the flat fields. */
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
  code: string;
  detail: string;
  stream?: SideStream;
}
