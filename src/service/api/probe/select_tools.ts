/** Selects the tools to run for a checked request, and those that its response shows. */
import type { ToolRequest } from '../../../platform/kube/probe_job.ts';
import { ffprobe } from '../../../media/tools/ffprobe.ts';
import { probeReport, type FramesOption, type ReportTool } from '../../../media/tools/probe_report.ts';
import { FILE_ROWS, sectionOf, type FileTool, type SectionName } from '../../../media/tools/table.ts';
import { checksOf } from '../../../media/policy/needs.ts';
import type { Policy } from '../../../media/policy/types.ts';
import type { Catalog } from './tool_versions.ts';
import { ApiError, invalid } from '../errors.ts';
import type { ProbeRequest } from './probe_request.ts';
import type { AskedTool, ProbeFile } from './file_schema.ts';
import { optionTexts } from './tool_options.ts';

/** A verdict must not depend on what the caller chooses to see. */
const judgedBy = (policy: Policy, catalog: Catalog): FileTool[] => [
  probeReport.name,
  ...checksOf(policy).filter((check) => catalog.versions(check).length > 0),
];

export interface Selection extends Pick<ProbeRequest, 'tools' | 'report'> {
  /** Sections of the response, without tools that run only for the report. */
  shown: FileTool[];
}

/** The sections that the caller requested. */
function shownOf(request: Pick<ProbeFile, 'only' | SectionName>): FileTool[] {
  const wanted = FILE_ROWS.filter((row) =>
    request.only === null ? request[sectionOf(row)].enabled : sectionOf(row) === request.only,
  );
  const shown = wanted.map(({ name }) => name);
  if (shown.length === 0) throw new ApiError('invalid-field', { text: 'all tools are disabled' });
  return shown;
}

/** A report is derived from the output of its readers: if the caller requested none of them, all of them run for it. */
function runOf(request: Pick<ProbeFile, SectionName>, shown: FileTool[]) {
  const programs = FILE_ROWS.filter((row) => 'args' in row);
  const asked = programs.filter(({ name }) => shown.includes(name));
  if (!shown.includes(probeReport.name)) return asked;
  const readers = programs.filter(({ name }) => probeReport.from.some((reader) => reader === name));
  const enabled = readers.filter((row) => request[sectionOf(row)].enabled);
  return [...new Set([...asked, ...(enabled.length > 0 ? enabled : readers)])];
}

/**
 * `policy`: the policy to evaluate. Its tools, and ffprobe for a timeline, run in addition to the requested ones, and
 * are not shown.
 */
export function selectTools(request: ProbeFile, catalog: Catalog, policy: Policy | null = null): Selection {
  const shown = shownOf(request);
  const pinned: Partial<Record<FileTool, string>> = policy?.uses ?? {};
  const wantedBy = [
    ...shown,
    ...(policy ? judgedBy(policy, catalog) : []),
    ...(request.timeline.enabled ? [ffprobe.name] : []),
  ];
  const tools = runOf(request, wantedBy).map((program): ToolRequest => {
    const { name, file } = program;
    const wanted = request[sectionOf(program)];
    if (!file.tunable && catalog.versions(name).length === 0) throw invalid(name, 'is not available in this cluster');
    const resolved = catalog.resolve(name, file.tunable ? (wanted.version ?? pinned[name] ?? 'latest') : 'latest');
    const options = optionTexts(program, wanted, resolved);
    return {
      name,
      version: resolved.version,
      timeoutMs: file.tunable ? Math.min(wanted.timeout, request.timeout) : request.timeout,
      ...(Object.keys(options).length > 0 ? { options } : {}),
    };
  });
  return { tools, shown, report: reportOf(request, shown) };
}

function reportOf(request: ProbeFile, shown: FileTool[]): Selection['report'] {
  if (!shown.includes(probeReport.name)) return { enabled: false };
  const { diff, prefer, frames } = request[probeReport.name] as AskedTool & {
    diff: boolean;
    prefer: ReportTool | null;
    frames: FramesOption;
  };
  return { enabled: true, diff, ...(prefer === null ? {} : { prefer }), ...(frames === 'auto' ? {} : { frames }) };
}
