/** What a request read from the origin, as `metadata` tells it. */
import type { OriginUses, ResultBody } from '../../platform/bus/result_body.ts';
import { shownName, TOOLS, type ToolName } from '../../media/tools/table.ts';

export interface ReadFromOrigin {
  io_usage: number;
  /** Absent in ends that the leader records. */
  origin?: Record<string, NonNullable<OriginUses[ToolName]>>;
}

export function readOf({ ioUsage, origin }: Pick<ResultBody, 'ioUsage' | 'origin'>): ReadFromOrigin {
  if (!origin) return { io_usage: ioUsage };
  // Only what is known: a runner may send anything beside it.
  const uses = TOOLS.flatMap((tool) => {
    const use = origin[tool];
    if (!use) return [];
    const { requests, connections, bytes, ms } = use;
    return [[shownName(tool), { requests, connections, bytes, ms }] as const];
  });
  return { io_usage: ioUsage, origin: Object.fromEntries(uses) };
}
