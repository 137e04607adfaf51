/** A tool version as shown in the cluster snapshot. Pure. */
import { TOOL_STATES, type SnapshotTool } from '../../../platform/bus/cluster_snapshot.ts';
import { conditionOf, isAvailable, isDegraded } from '../../../platform/kube/conditions.ts';
import { printable } from '../../../base/printable.ts';
import type { ProbeTool } from '../../../platform/kube/probe_tool.ts';
import { byNewest } from '../../../base/version_order.ts';

const TEXT = 512;

export function stateOfTool(tool: ProbeTool): SnapshotTool['state'] {
  if (isDegraded(tool)) return 'degraded';
  if (isAvailable(tool)) return 'ready';
  return conditionOf(tool.status, 'Available')?.status === 'False' ? 'refused' : 'proving';
}

/** Versions that need attention first. */
export const byNeed = (a: ProbeTool, b: ProbeTool): number =>
  TOOL_STATES.indexOf(stateOfTool(b)) - TOOL_STATES.indexOf(stateOfTool(a)) ||
  (a.spec.tool < b.spec.tool ? -1 : a.spec.tool > b.spec.tool ? 1 : 0) ||
  byNewest(a.spec.version, b.spec.version);

export function shownTool(tool: ProbeTool): SnapshotTool {
  const { spec, status } = tool;
  const state = stateOfTool(tool);
  const condition = conditionOf(status, state === 'degraded' ? 'Degraded' : 'Available');
  const architectures = status?.architectures ?? [];
  const startups = architectures.flatMap(({ startupMs }) => (startupMs === undefined ? [] : [startupMs]));
  return {
    tool: spec.tool,
    version: spec.version,
    latest: spec.latest === true,
    reported: status?.reported === undefined ? null : printable(status.reported, 256),
    state,
    since: condition?.lastTransitionTime ?? null,
    why: state === 'ready' || !condition ? null : printable(`${condition.reason}: ${condition.message}`, TEXT),
    'startup-ms': startups.length === 0 ? null : Math.max(...startups),
    architectures: architectures.map(({ arch }) => printable(arch, 32)),
  };
}
