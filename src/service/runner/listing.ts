/** A job that lists a bucket in place of running tools. They are those of the items that come of it. */
import { withoutResult } from '../../platform/bus/messages.ts';
import type { Listing } from '../../source/listing/listing.ts';
import type { Running } from './job.ts';
import type { RawBody } from './output.ts';

export async function listingOf(
  { assignment: { tools }, source, remainingMs, signal }: Running,
  listing: Listing,
): Promise<Pick<RawBody, 'tools' | 'skipped' | 'listing'>> {
  const timeout = AbortSignal.timeout(Math.max(1, Math.floor(remainingMs)));
  const listed = await source.list(tools[0]!.name, listing, AbortSignal.any([signal, timeout]));
  if (!('failure' in listed))
    return { tools: [], skipped: tools.map(({ name }) => name), listing: Buffer.from(JSON.stringify(listed)) };
  const { failure, code, message } = listed;
  const error = source.redact(message);
  return { tools: tools.map((tool) => ({ ...withoutResult(tool), failure, code, error })) };
}
