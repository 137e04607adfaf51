/** From a checked request to the tools that run for it, and to those that its answer shows. */
import type { ToolRequest } from '../../kube/probe_job.ts';
import { probeReport, type ReportTool } from '../../tools/probe_report.ts';
import { FILE_ROWS, FILE_TOOLS, type FileTool } from '../../tools/table.ts';
import type { Catalog } from './catalog.ts';
import { ApiError, invalid } from '../errors.ts';
import type { ProbeRequest } from './request.ts';
import type { AskedTool, ProbeFile } from './schema/file.ts';
import { optionTexts } from './schema/tool_options.ts';

export interface Selection extends Pick<ProbeRequest, 'tools' | 'report'> {
  /** What the answer holds: tools that run for the report alone are not in it. */
  shown: FileTool[];
}

/** Which parts of the answer a caller wants. */
function shownOf(request: Pick<ProbeFile, 'only' | FileTool>): FileTool[] {
  if (request.only !== null) return [request.only];
  const shown = FILE_TOOLS.filter((tool) => request[tool].enabled);
  if (shown.length === 0) throw new ApiError('invalid-field', { text: 'all tools are disabled' });
  return shown;
}

/** A report is made from what its readers print: where the caller wants none of them, all of them run for it. */
function runOf(request: Pick<ProbeFile, FileTool>, shown: FileTool[]) {
  const programs = FILE_ROWS.filter((row) => 'args' in row);
  const asked = programs.filter(({ name }) => shown.includes(name));
  if (!shown.includes(probeReport.name)) return asked;
  const readers = programs.filter(({ name }) => probeReport.from.some((reader) => reader === name));
  const enabled = readers.filter(({ name }) => request[name].enabled);
  return [...new Set([...asked, ...(enabled.length > 0 ? enabled : readers)])];
}

export function selectTools(request: ProbeFile, catalog: Catalog): Selection {
  const shown = shownOf(request);
  const tools = runOf(request, shown).map((program): ToolRequest => {
    const { name, file } = program;
    if (!file.tunable) {
      if (catalog.versions(name).length === 0) throw invalid(name, 'is not available in this cluster');
      return { name, version: catalog.resolve(name, 'latest').version, timeoutMs: request.timeout };
    }
    const wanted = request[name];
    const resolved = catalog.resolve(name, wanted.version);
    const options = optionTexts(program, wanted, resolved);
    return {
      name,
      version: resolved.version,
      timeoutMs: Math.min(wanted.timeout, request.timeout),
      ...(Object.keys(options).length > 0 ? { options } : {}),
    };
  });
  return { tools, shown, report: reportOf(request, shown) };
}

function reportOf(request: ProbeFile, shown: FileTool[]): Selection['report'] {
  if (!shown.includes(probeReport.name)) return { enabled: false };
  const { diff, prefer } = request[probeReport.name] as AskedTool & { diff: boolean; prefer: ReportTool | null };
  return { enabled: true, diff, ...(prefer === null ? {} : { prefer }) };
}
