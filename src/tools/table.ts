/** Every tool, in the order in which an answer shows them. What a tool is stands in its descriptor, and only there. */
import { c2pa } from './c2pa.ts';
import { ffprobe } from './ffprobe.ts';
import { mediainfo } from './mediainfo.ts';
import { msv } from './msv.ts';
import type { Program } from './tool.ts';

const TABLE = [ffprobe, mediainfo, msv, c2pa] as const;

export type ToolName = (typeof TABLE)[number]['name'];
export const TOOLS: readonly ToolName[] = TABLE.map(({ name }) => name);

/** By name. A runner may be asked for a tool that its version of the product does not have. */
export const TOOL_TABLE = Object.fromEntries(TABLE.map((tool) => [tool.name, tool])) as Readonly<
  Partial<Record<ToolName, Program<ToolName>>>
>;
