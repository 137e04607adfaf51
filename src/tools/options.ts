import { FFPROBE_OPTIONS } from './ffprobe_options.ts';
import { MEDIAINFO_OPTIONS } from './mediainfo.ts';
import type { OptionSpec } from './option.ts';

/** The tools whose options callers may set. */
export const TOOL_OPTIONS: Readonly<Record<'ffprobe' | 'mediainfo', readonly OptionSpec[]>> = {
  ffprobe: FFPROBE_OPTIONS,
  mediainfo: MEDIAINFO_OPTIONS,
};
