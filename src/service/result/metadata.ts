/** The member `metadata` of a response: the request, and what it read from the origin. */
import type { ResultBody } from '../../platform/bus/result_body.ts';
import { shownName, TOOLS } from '../../media/tools/table.ts';

/** The recorded end of a request. */
export interface Recorded {
  requestId: string;
  queueTimeMs: number;
  error: string | null;
}

export function metadataOf(
  { ioUsage, origin }: ResultBody,
  { requestId, queueTimeMs }: Pick<Recorded, 'requestId' | 'queueTimeMs'>,
) {
  const metadata = { request_id: requestId, queue_time: Math.round(queueTimeMs), io_usage: ioUsage };
  // Absent in ends that the leader records.
  if (!origin) return metadata;
  // Only what is known: a runner may send anything beside it.
  const uses = TOOLS.flatMap((tool) => {
    const use = origin[tool];
    if (!use) return [];
    const { requests, connections, bytes, ms } = use;
    return [[shownName(tool), { requests, connections, bytes, ms }] as const];
  });
  return { ...metadata, origin: Object.fromEntries(uses) };
}
