/** From a checked request to the tools that run for it, and to those that its answer shows. */
import type { ProbeJobSpec, ToolRequest } from '../../kube/resources.ts';
import type { ToolName } from '../../tools/table.ts';
import type { Catalog } from './catalog.ts';
import { GatewayError, invalid } from '../errors.ts';
import type { ProbeFile } from './schema/file.ts';
import { optionTexts } from './schema/tool_options.ts';

export type Shown = 'ffprobe' | 'mediainfo' | 'probe_report' | 'c2pa';

export interface Selection {
  tools: ToolRequest[];
  report: NonNullable<ProbeJobSpec['report']>;
  /** What the answer holds: tools that run for the report alone are not in it. */
  shown: Shown[];
}

/** Which parts of the answer a caller wants. */
function shownOf(request: Pick<ProbeFile, 'only' | Shown>): Shown[] {
  if (request.only !== null) return [request.only];
  const shown = (['ffprobe', 'mediainfo', 'probe_report', 'c2pa'] as const).filter((tool) => request[tool].enabled);
  if (shown.length === 0) throw new GatewayError(400, 'invalid-field', 'all tools are disabled');
  return shown;
}

/** A report needs what ffprobe and mediainfo say: where the caller wants neither, both run for it. */
function runOf(request: Pick<ProbeFile, Shown>, shown: Shown[]): ToolName[] {
  const asked = (['ffprobe', 'mediainfo', 'c2pa'] as const).filter((tool) => shown.includes(tool));
  if (!shown.includes('probe_report')) return asked;
  const sources = (['ffprobe', 'mediainfo'] as const).filter((tool) => request[tool].enabled);
  return [...new Set([...asked, ...(sources.length > 0 ? sources : (['ffprobe', 'mediainfo'] as const))])];
}

export function selectTools(request: ProbeFile, catalog: Catalog): Selection {
  const shown = shownOf(request);
  const tools = runOf(request, shown).map((name): ToolRequest => {
    if (name === 'c2pa') {
      if (catalog.versions('c2pa').length === 0) throw invalid('c2pa', 'is not available in this cluster');
      return { name, version: catalog.resolve(name, 'latest').version, timeoutMs: request.timeout };
    }
    const wanted = request[name as 'ffprobe' | 'mediainfo'];
    const resolved = catalog.resolve(name, wanted.version);
    const options = optionTexts(name as 'ffprobe' | 'mediainfo', wanted, resolved);
    return {
      name,
      version: resolved.version,
      timeoutMs: Math.min(wanted.timeout, request.timeout),
      ...(Object.keys(options).length > 0 ? { options } : {}),
    };
  });
  const { diff, prefer } = request.probe_report;
  const enabled = shown.includes('probe_report');
  return { tools, shown, report: { enabled, ...(enabled ? { diff, ...(prefer === null ? {} : { prefer }) } : {}) } };
}
