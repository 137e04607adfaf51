/** Every tool, in the order of responses. All facts about a tool are in its descriptor. */
import { c2pa } from './c2pa.ts';
import { ffprobe } from './ffprobe.ts';
import { mediainfo } from './mediainfo.ts';
import { msv } from './msv.ts';
import { probeReport } from './probe_report.ts';
import type { Endpoint, Program, Proof, Section } from './tool.ts';

const TABLE = [ffprobe, mediainfo, probeReport, msv, c2pa] as const;

type Row = (typeof TABLE)[number];
type RowProgram = Extract<Row, Program>;

/** Names of possible results. */
export type ResultName = Row['name'];
/** Tools that run as a program. */
export type ToolName = RowProgram['name'];

type FileRow = Extract<Row, { file: Section }>;
/** Tools that `/v1/probe/file` accepts by name, and whose results its envelope contains. */
export type FileTool = FileRow['name'];
const isInFile = (row: Row): row is FileRow => row.file !== undefined;
export const FILE_ROWS = TABLE.filter(isInFile);
export const FILE_TOOLS: readonly FileTool[] = FILE_ROWS.map(({ name }) => name);

type Sections<R> = R extends { file: { as: infer As extends string } } ? As : R extends FileRow ? R['name'] : never;
/** The names of tools in requests and envelopes. */
export type SectionName = Sections<FileRow>;
export const sectionOf = ({ name, file }: FileRow): SectionName => (file.as ?? name) as SectionName;
export const SECTIONS: readonly SectionName[] = FILE_ROWS.map(sectionOf);

/** Tools with an endpoint and a kind of job of their own. */
export type EndpointTool = Extract<Row, { endpoint: Endpoint }>['name'];

/** Tools with an image: all except built-in ones. */
export type ImageTool = Extract<Row, { proof: Proof }>['name'];

const isProgram = (row: Row): row is RowProgram => 'args' in row;
const PROGRAMS = TABLE.filter(isProgram);
export const RESULTS: readonly ResultName[] = TABLE.map(({ name }) => name);
export const TOOLS: readonly ToolName[] = PROGRAMS.map(({ name }) => name);

const hasEndpoint = (row: Row): row is Extract<Row, { endpoint: Endpoint }> => 'endpoint' in row;
export const ENDPOINT_TOOLS: readonly EndpointTool[] = TABLE.filter(hasEndpoint).map(({ name }) => name);
export const IMAGE_TOOLS = PROGRAMS.flatMap((tool) => ('proof' in tool ? [tool.name] : []));

/** By name. A runner may be asked for a tool that its version does not have. */
export const TOOL_TABLE = Object.fromEntries(PROGRAMS.map((tool) => [tool.name, tool])) as Readonly<
  Partial<Record<ToolName, Program<ToolName>>>
>;
