/** Reads a message of events, and which objects of a source it names. */
import type { SeenObject, Source } from '../../../platform/store/sources.ts';
import type { Filter } from '../../../source/listing/listing.ts';
import type { Slices } from '../batch/batch_request.ts';
import { unreadable } from '../errors.ts';
import { JSON_BOUNDS, JsonRefused, parseJson } from '../http/input/bounded_json.ts';
import { objectIn, placeOf } from './events.ts';

export const MOST_MESSAGE_BYTES = 256 * 1024;

export function parsedMessage(text: string): unknown {
  try {
    return parseJson(text, { ...JSON_BOUNDS, used: 0 });
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw unreadable('is not valid JSON');
    throw unreadable(error.message);
  }
}

/** Those that are wanted, without two of one name. `now`: in milliseconds. */
export async function objectsOf(
  records: readonly unknown[],
  { url, filter }: Pick<Source, 'url' | 'filter'>,
  { now, slices }: { now: number; slices: Slices },
): Promise<SeenObject[]> {
  const place = placeOf(url);
  const objects = new Map<string, SeenObject>();
  for (const record of records) {
    const object = objectIn(record, place, filter as Filter, now);
    const known = object && objects.get(object.name);
    if (object && !(known && known.at > object.at)) objects.set(object.name, object);
    await slices.next();
  }
  return [...objects.values()];
}
