/** The verdict goes back to the object that was read, as tags of it. */
import type { ResultBody } from '../../platform/bus/result_body.ts';
import { type Tagged, untagged } from '../../source/http/object_tags.ts';
import type { TagAsked } from '../../source/source.ts';
import type { Running } from './job.ts';
import type { RawToolResult } from './output.ts';

/** For three requests to a store that answers. */
const LONGEST_MS = 10_000;

interface Ran {
  tools: readonly Pick<RawToolResult, 'success'>[];
  policy?: ResultBody['policy'];
}

/** That of the policy. Without one, or without any result: what became of the tools. */
export function verdictWord({ tools, policy }: Ran): string {
  const done = tools.filter(({ success }) => success).length;
  if (done === 0) return 'error';
  return policy?.outcome ?? (done === tools.length ? 'pass' : 'warn');
}

export async function taggedBy(
  { assignment, source, signal }: Running,
  { request, isRefused }: TagAsked,
  ran: Ran,
  remainingMs: number,
): Promise<Tagged> {
  if (isRefused) return untagged('not-allowed', 'the operator allows no tags with this credential');
  const tags = {
    'probeyard-verdict': verdictWord(ran),
    'probeyard-checked-at': new Date().toISOString(),
    'probeyard-request': request,
  };
  const timeout = AbortSignal.timeout(Math.max(1, Math.floor(Math.min(remainingMs, LONGEST_MS))));
  return source.tag(assignment.tools[0]!.name, tags, AbortSignal.any([signal, timeout]));
}
