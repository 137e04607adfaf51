/** Every tool, in the order of responses. All facts about a tool are in its descriptor. */
import { c2pa } from './c2pa.ts';
import { ffprobe } from './ffprobe.ts';
import { mediainfo } from './mediainfo.ts';
import { msv } from './msv.ts';
import { probeReport } from './probe_report.ts';
import { qc } from './qc.ts';
import type { Endpoint, Program, Proof, Section } from './tool.ts';

const TABLE = [ffprobe, mediainfo, probeReport, msv, c2pa, qc] as const;

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
/** Its name in requests and answers. */
const shown = ({ name, file }: { name: string; file?: Section | undefined }): string => file?.as ?? name;
export const sectionOf = (row: FileRow): SectionName => shown(row) as SectionName;
export const SECTIONS: readonly SectionName[] = FILE_ROWS.map(sectionOf);

type EndpointRow = Extract<Row, { endpoint: Endpoint }>;
/** Tools with an endpoint and a kind of job of their own. */
export type EndpointTool = EndpointRow['name'];
/** Paths of these endpoints. */
export type EndpointPath = `/v1/probe/${Sections<EndpointRow>}`;

/** Tools with an image: all except built-in ones. */
export type ImageTool = Extract<Row, { proof: Proof }>['name'];

const isProgram = (row: Row): row is RowProgram => 'args' in row;
const PROGRAMS = TABLE.filter(isProgram);
export const RESULTS: readonly ResultName[] = TABLE.map(({ name }) => name);
export const TOOLS: readonly ToolName[] = PROGRAMS.map(({ name }) => name);

const hasEndpoint = (row: Row): row is EndpointRow => 'endpoint' in row;
export const ENDPOINT_ROWS = TABLE.filter(hasEndpoint);
export const ENDPOINT_TOOLS: readonly EndpointTool[] = ENDPOINT_ROWS.map(({ name }) => name);
export const endpointPath = (row: EndpointRow): EndpointPath => `/v1/probe/${sectionOf(row)}` as EndpointPath;
/** Members of reports that envelopes have, too. */
export const REPORT_MEMBERS = ENDPOINT_ROWS.flatMap(({ endpoint }) => Object.keys(endpoint.members ?? {}));
export const IMAGE_TOOLS = PROGRAMS.flatMap((tool) => ('proof' in tool ? [tool.name] : []));

/** By name. A runner may be asked for a tool that its version does not have. */
export const TOOL_TABLE = Object.fromEntries(PROGRAMS.map((tool) => [tool.name, tool])) as Readonly<
  Partial<Record<ToolName, Program<ToolName>>>
>;

/** The name in requests and answers. */
export const shownName = (tool: ToolName): string => shown(TOOL_TABLE[tool] ?? { name: tool });
