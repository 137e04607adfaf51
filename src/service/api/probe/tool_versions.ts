/** The tool versions that the cluster can run now, from its ProbeTools, and the resolution of requested versions. */
import { HLS_VERSION } from '../../../media/hls/built_in.ts';
import { isAvailable } from '../../../platform/kube/conditions.ts';
import type { ProbeTool } from '../../../platform/kube/probe_tool.ts';
import type { ToolName } from '../../../media/tools/table.ts';
import { byNewest, nearestVersion, versionFor } from '../../../base/version_order.ts';
import { ApiError, invalid } from '../errors.ts';

export interface ToolVersion {
  version: string;
  /** Command-line options reported by the binary itself, without their dashes; null if it reported none. */
  options: ReadonlySet<string> | null;
  /** The first line that the binary prints of its version. */
  reported?: string;
  /** Of known vulnerabilities, where the operator wants it. */
  warning?: string;
}

export interface Catalog {
  /** The exact version for `latest`, `6.1`, or `6` (the newest 6.x); throws an error for the caller. */
  resolve(tool: ToolName, version: string): ToolVersion;
  versions(tool: ToolName): string[];
}

/** Available, and not being deleted. */
const isOffered = (tool: ProbeTool): boolean => tool.metadata.deletionTimestamp === undefined && isAvailable(tool);

/**
 * A pool may have nodes of several architectures: an option counts as known if all of them know it, and as missing
 * (`!name`) if one of them lacks it.
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
  // Built in.
  byTool.set('msv', {
    latest: HLS_VERSION,
    versions: new Map([[HLS_VERSION, { version: HLS_VERSION, options: null }]]),
  });
  for (const tool of tools.filter(isOffered).sort((a, b) => byNewest(a.spec.version, b.spec.version))) {
    const entry = byTool.get(tool.spec.tool) ?? { latest: undefined, versions: new Map() };
    byTool.set(tool.spec.tool, entry);
    const { warning, reported } = tool.status ?? {};
    entry.versions.set(tool.spec.version, {
      version: tool.spec.version,
      options: optionsOf(tool),
      ...(reported === undefined ? {} : { reported }),
      ...(warning === undefined ? {} : { warning }),
    });
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
      const all = versions(tool);
      // The operator's mark decides. If that version is not ready, the newest one is used as the latest.
      const found = known.versions.get(versionFor(version, all, known.latest) ?? '');
      if (found) return found;
      const nearest = nearestVersion(version, all);
      throw invalid(
        `${tool}.version`,
        `"${version}" is not available; available: latest, ${all.join(', ')}` +
          (nearest === undefined ? '' : `; nearest: ${nearest}`),
      );
    },
  };
}
