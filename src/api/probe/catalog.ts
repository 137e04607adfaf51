/** Which tool versions the cluster can run now, from its ProbeTools; and what a caller's version means. */
import { HLS_VERSION } from '../../hls/version.ts';
import { isAvailable } from '../../kube/conditions.ts';
import type { ProbeTool } from '../../kube/probe_tool.ts';
import type { ToolName } from '../../tools/table.ts';
import { byNewest } from '../../version_order.ts';
import { ApiError, invalid } from '../errors.ts';

export interface ToolVersion {
  version: string;
  /** Command-line options that the binary itself reported, without their dashes; null where it reported none. */
  options: ReadonlySet<string> | null;
}

export interface Catalog {
  /** The exact version for a name that a caller gave; throws what the caller is told. */
  resolve(tool: ToolName, version: string): ToolVersion;
  versions(tool: ToolName): string[];
}

/** Available, and not about to go. */
const isOffered = (tool: ProbeTool): boolean => tool.metadata.deletionTimestamp === undefined && isAvailable(tool);

/**
 * A pool may have nodes of several architectures: an option counts as known where each of them knows it, as lacking
 * (`!name`) where one lacks it.
 */
function optionsOf(tool: ProbeTool): ReadonlySet<string> | null {
  const lists = (tool.status?.architectures ?? [])
    .map(({ options }) => options ?? [])
    .filter((options) => options.length > 0);
  const [first, ...rest] = lists.map((options) => new Set(options.map((option) => option.replace(/^-+/, ''))));
  if (!first) return null;
  const lacking = [first, ...rest].flatMap((options) => [...options].filter((option) => option.startsWith('!')));
  return new Set([...[...first].filter((option) => rest.every((other) => other.has(option))), ...lacking]);
}

export function catalogOf(tools: readonly ProbeTool[]): Catalog {
  const byTool = new Map<ToolName, { latest: string | undefined; versions: Map<string, ToolVersion> }>();
  // Comes with the product.
  byTool.set('msv', {
    latest: HLS_VERSION,
    versions: new Map([[HLS_VERSION, { version: HLS_VERSION, options: null }]]),
  });
  for (const tool of tools.filter(isOffered).sort((a, b) => byNewest(a.spec.version, b.spec.version))) {
    const entry = byTool.get(tool.spec.tool) ?? { latest: undefined, versions: new Map() };
    byTool.set(tool.spec.tool, entry);
    entry.versions.set(tool.spec.version, { version: tool.spec.version, options: optionsOf(tool) });
    if (tool.spec.latest === true) entry.latest ??= tool.spec.version;
  }
  const versions = (tool: ToolName): string[] => [...(byTool.get(tool)?.versions.keys() ?? [])];

  return {
    versions,
    resolve(tool, version) {
      const known = byTool.get(tool);
      if (!known) {
        throw version === 'latest'
          ? new ApiError('tool-unavailable', { text: `${tool}: no version is ready in this cluster` })
          : invalid(`${tool}.version`, `"${version}" is not available; no version of ${tool} is ready in this cluster`);
      }
      // The operator's mark decides; where that version is not ready, the newest one is the latest there is.
      const exact = version === 'latest' ? (known.latest ?? versions(tool)[0]!) : version;
      const found = known.versions.get(exact);
      if (!found)
        throw invalid(
          `${tool}.version`,
          `"${version}" is not available; available: latest, ${versions(tool).join(', ')}`,
        );
      return found;
    },
  };
}
