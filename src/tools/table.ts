import type { ToolName } from '../kube/resources.ts';
import { c2pa } from '../runner/tools/c2pa.ts';
import { ffprobe } from '../runner/tools/ffprobe.ts';
import { mediainfo } from '../runner/tools/mediainfo.ts';
import { msv } from '../runner/tools/msv.ts';
import type { Tool } from './tool.ts';

/** Every tool that runs as a program of its own. */
export const TOOL_TABLE: Readonly<Partial<Record<ToolName, Tool>>> = { ffprobe, mediainfo, c2pa, msv };
