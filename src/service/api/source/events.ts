/**
 * Events of a bucket, in the form of S3: what a message says of the objects of a source. Also a record alone, one in
 * `data` of a CloudEvent, and one in the text of a message of SNS.
 */
import { isObject } from '../../../base/is_object.ts';
import type { SeenObject, Source } from '../../../platform/store/sources.ts';
import { cutAt } from '../../../source/address/text.ts';
import { decoded, decodeLoosely } from '../../../source/address/s3.ts';
import { type Filter, isWanted } from '../../../source/listing/listing.ts';
import { versionOf } from '../../../source/listing/object_version.ts';
import { mayBeRead } from '../batch/append_listed.ts';
import type { Slices } from '../batch/batch_request.ts';
import { invalid, unreadable } from '../errors.ts';
import { JSON_BOUNDS, JsonRefused, parseJson } from '../http/input/bounded_json.ts';
import { seenObject } from './seen_object.ts';

/** Each is a row to write. */
export const MOST_RECORDS = 100;
export const MOST_MESSAGE_BYTES = 256 * 1024;

export function parsedMessage(text: string): unknown {
  try {
    return parseJson(text, { ...JSON_BOUNDS, used: 0 });
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw unreadable('is not valid JSON');
    throw unreadable(error.message);
  }
}

type Members = Record<string, unknown>;
const membersOf = (value: unknown, name: string): Members => {
  const member = isObject(value) ? value[name] : undefined;
  return isObject(member) ? member : {};
};

export function recordsIn(value: unknown, depth = 0): unknown[] {
  if (!isObject(value)) throw invalid('body', 'must be a JSON object: a message of S3 events');
  const { Records: records, Type: type, Message: text, data, s3 } = value;
  if (Array.isArray(records)) {
    if (records.length > MOST_RECORDS) throw invalid('Records', `must have at most ${MOST_RECORDS} values`);
    return records;
  }
  if (isObject(s3)) return [value];
  if (depth === 0 && isObject(data)) return recordsIn(data, 1);
  // Its other messages are text for people.
  const isNotified = type === undefined || type === 'Notification';
  if (depth === 0 && isNotified && typeof text === 'string') return recordsIn(parsedMessage(text), 1);
  // As a bucket sends when its events are set up.
  return [];
}

const HOST = /^[\w.:[\]-]{1,255}$/;

/**
 * Of a message of SNS, as sourceForEvents has it: the host that confirms the subscription, or null, as it is confirmed.
 * Undefined: of another sender.
 */
export function confirmationOf(value: unknown): string | null | undefined {
  if (!isObject(value)) return undefined;
  const { Type: type, SubscribeURL: url } = value;
  if (type === 'Notification') return null;
  if (type !== 'SubscriptionConfirmation') return undefined;
  const host = (typeof url === 'string' && URL.parse(url)?.host) || '';
  return HOST.test(host) ? host : '';
}

const ofForm = (key: string): string | undefined => decoded(key.replaceAll('+', ' '));

/** Encoded as a form. versitygw sends it as it is, and also ends the name of the bucket with it. */
function nameOf(key: string, arn: unknown): string {
  const isPlain = /[^!-~]/.test(key) || (typeof arn === 'string' && arn.endsWith(`/${key}`));
  return isPlain ? key : (ofForm(key) ?? key);
}

interface Place {
  bucket: string;
  prefix: string;
}

/** Of `s3://films/2026/`. */
export function placeOf(url: string): Place {
  const [bucket, path] = cutAt(url.slice(url.indexOf('://') + 3), '/');
  return { bucket, prefix: decodeLoosely(path ?? '') };
}

/** Undefined: it names none. */
export const bucketOf = (record: unknown): unknown => membersOf(membersOf(record, 's3'), 'bucket')['name'];

/** Null: it is not an event of an object that is wanted. `now`: in milliseconds. */
export function objectIn(record: unknown, { bucket, prefix }: Place, filter: Filter, now: number): SeenObject | null {
  if (!isObject(record)) return null;
  const { eventName, eventTime } = record;
  const s3 = membersOf(record, 's3');
  const of = membersOf(s3, 'bucket');
  const { key, eTag: etag, size } = membersOf(s3, 'object');
  if (typeof eventName !== 'string' || !/^(?:s3:)?ObjectCreated:/.test(eventName)) return null;
  if (of['name'] !== bucket || typeof key !== 'string' || typeof etag !== 'string' || etag === '') return null;
  const name = nameOf(key, of['arn']);
  if (!name.startsWith(prefix) || !mayBeRead(name)) return null;
  const time = typeof eventTime === 'string' ? Date.parse(eventTime) : NaN;
  // A clock that is ahead must not make later news older.
  const at = Number.isNaN(time) ? now : Math.max(0, Math.min(time, now));
  const bytes = typeof size === 'number' ? size : NaN;
  if (!isWanted({ name, bytes, modified: at }, filter, prefix.lastIndexOf('/') + 1)) return null;
  return seenObject(name, { version: versionOf({ etag, bytes, modified: at }), at: new Date(at), modified: null });
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
