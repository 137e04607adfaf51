/**
 * Reads a batch as it is sent: as JSON, or as lines of JSON whose first one has the fields. Thousands of addresses are
 * parsed between turns of the event loop, and charged to the account.
 */
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { hideQuery } from '../../../base/hide_query.ts';
import { isObject } from '../../../base/is_object.ts';
import { MOST_LINE } from '../../../base/source_list.ts';
import { FILE_ROWS, sectionOf } from '../../../media/tools/table.ts';
import { originUrl, placeOf } from '../../../source/protocols/table.ts';
import { holdsCredentials, isKeyed, type Source } from '../../../source/source.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid, unreadable } from '../errors.ts';
import { JsonRefused, parseJson } from '../http/input/bounded_json.ts';
import { makeReader, shown } from '../http/input/read_fields.ts';
import type { TextBody } from '../http/read_input.ts';
import { type Asker, tokenOf } from '../http/request_context.ts';
import { askedPolicy } from '../policies/asked_policy.ts';
import { type ProbeFile, selectTools, takeIgnored } from '../probe/file_request.ts';
import { readSources, readWebhookUrl, sourceRules } from '../probe/probe_request.ts';
import type { BatchItem } from '../../../platform/store/batch_items.ts';
import type { BatchListing, EarlierRequest, ItemState } from '../../../platform/store/batches.ts';
import {
  type Head,
  HeadSchema,
  ItemSchema,
  MOST_ITEMS,
  type SentItem,
  type Template,
  TemplateSchema,
} from './batch_fields.ts';
import { listedAddress, newListing } from './bucket.ts';
import { itemPages } from './item_pages.ts';
import { linesAt } from './list_at_address.ts';

export interface ReadItem {
  address: string;
  ref: string | null;
  /** Without credentials. */
  display: string;
  /** That it is the whole address. */
  plain: boolean;
  /** Of its authority. */
  host: bigint;
  earlier?: EarlierRequest | undefined;
}

/** What is kept of a template: fields with exact versions, and the revision of the policy that they name. */
export interface KeptTemplate {
  fields: Template;
  policyRevision: number | null;
  /** What is sent to `webhook_url`, if it is not the batch as it is. */
  webhookFormat?: 'cloudevents';
  tagObjects?: true;
  /** Read by settle_items, too. */
  webhookItems?: true;
  /** Items whose source is that of their earlier request are skipped. */
  onlyChanged?: true;
}

export interface BatchRequest {
  head: Head;
  template: KeptTemplate;
  /** Fields that were accepted without effect. */
  ignored: string[];
  /** Of a batch over a bucket. */
  listing: BatchListing | null;
  /** Of the body, or from where it says: an address, another batch or a bucket. */
  readItems(): Promise<BatchItems>;
}

export interface BatchItems {
  items: ReadItem[];
  /** Items of the batch that it is made from whose addresses are not known any more. */
  leftOut: number;
}

/** The fields of a request for one item. */
export const fieldsOf = (template: Template, url: string): ProbeFile =>
  ({
    ...structuredClone(template),
    url,
    // Not what the token has by now.
    cache: { max_age: template.cache.max_age ?? 0 },
    headers: null,
    cookies: null,
    webhook_url: null,
    webhook_format: 'plain',
    output: 'json',
    timeline: { enabled: false },
  }) as ProbeFile;

// The two forms of a body.

const LINES = 'application/x-ndjson';
const MOST_FIRST_LINE = 64 * 1024;

/** A value, or why the text is none. */
type Sent = { value: unknown; earlier?: EarlierRequest | undefined } | { wrong: string };
interface SentBatch {
  head: unknown;
  /** Undefined: it has none. */
  items: Iterable<Sent> | undefined;
}

function inJson(value: unknown): SentBatch {
  if (!isObject(value)) throw unreadable('must be a JSON object');
  const { items, ...head } = value;
  if (items === undefined) return { head, items };
  if (!Array.isArray(items)) throw invalid('items', 'must be a list');
  if (items.length > MOST_ITEMS) throw tooMany();
  return { head, items: items.map((item: unknown) => ({ value: item })) };
}

const tooMany = (): ApiError => invalid('items', `must have at most ${MOST_ITEMS} values; create several batches`);

function parsed(line: string, most: number): Sent {
  if (line.length > most) return { wrong: `must have at most ${most} characters` };
  try {
    return { value: parseJson(line, { depth: 16, values: 10_000, used: 0 }) };
  } catch (error) {
    if (!(error instanceof JsonRefused)) return { wrong: 'is not valid JSON' };
    return { wrong: `${error.repeated === undefined ? '' : `${shown(error.repeated)}: `}${error.message}` };
  }
}

/** Without empty ones, which are few. */
function* linesIn(text: string): Generator<string> {
  let empty = 0;
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from);
    const line = text.slice(from, end < 0 ? text.length : end).trim();
    from = end < 0 ? text.length : end + 1;
    if (line !== '') yield line;
    else if (++empty > MOST_ITEMS) throw unreadable(`has more than ${MOST_ITEMS} empty lines`);
  }
}

function inLines(text: string): SentBatch {
  const lines = linesIn(text);
  const first = lines.next();
  const head = parsed(first.done ? '' : first.value, MOST_FIRST_LINE);
  if ('wrong' in head) throw unreadable(`the first line ${head.wrong}; it has the fields, and each other line an item`);
  const second = lines.next();
  return { head: head.value, items: second.done ? undefined : itemLines(after(second.value, lines)) };
}

function* after(first: string, others: Iterable<string>): Generator<string> {
  yield first;
  yield* others;
}

function* itemLines(lines: Iterable<string>): Generator<Sent> {
  let count = 0;
  for (const line of lines) {
    if (++count > MOST_ITEMS) throw tooMany();
    yield parsed(line, MOST_LINE);
  }
}

// The parts.

const readHead = makeReader<Head>(HeadSchema);
const readTemplate = makeReader<Template>(TemplateSchema);
const readItem = makeReader<SentItem>(ItemSchema);

/** The error of a part, as one of the whole. */
function within(place: string, error: unknown): unknown {
  if (!(error instanceof ApiError) || error.status !== 400) return error;
  const { code, message, field, toolCode } = error;
  // Messages about an address begin with its field.
  const namesField = field !== undefined || /^url\b/.test(message);
  return new ApiError(code, {
    text: `${place}${namesField ? '.' : ': '}${message}`,
    field: field === undefined ? place : `${place}.${field}`,
    toolCode,
  });
}

async function templateIn(deps: Deps, by: Asker, sent: object): Promise<Pick<BatchRequest, 'template' | 'ignored'>> {
  try {
    const fields = readTemplate({ form: 'json', value: sent });
    const ignored = takeIgnored(fields as ProbeFile).map((name) => `probe.${name}`);
    const policy = await askedPolicy(deps, by, fields.policy);
    const { tools } = selectTools(fieldsOf(fields, ''), deps.catalog(), policy?.policy);
    // One batch has one version of each tool, whatever is the latest when an item is begun.
    for (const { name, version } of tools) {
      const row = FILE_ROWS.find((one) => one.name === name);
      if (row?.file.tunable) fields[sectionOf(row)].version = version;
    }
    return { template: { fields, policyRevision: policy?.revision ?? null }, ignored };
  } catch (error) {
    throw within('probe', error);
  }
}

/** By host and port: what is polite to one server. */
function hostOf(source: Source): bigint {
  const { authority } = placeOf(originUrl(source));
  return createHash('sha256').update(authority).digest().readBigInt64BE();
}

type Rules = Parameters<typeof readSources>[1];

/** What items of a template have in common. */
type Common = Pick<KeptTemplate, 'tagObjects'> & { fields: Pick<Template, 'credential'> };

const TAGGABLE =
  'must be an s3:// address without a query for tag_objects, with keys or with `credential` of the template';

export function itemIn(sent: Sent, rules: Rules, { fields, tagObjects }: Common): ReadItem {
  const credential = fields.credential ?? undefined;
  if ('wrong' in sent) throw new ApiError('invalid-field', { text: sent.wrong });
  const value = typeof sent.value === 'string' ? { url: sent.value } : sent.value;
  if (!isObject(value)) throw new ApiError('invalid-field', { text: 'must be an address, or an object with a url' });
  const { url, ref } = readItem({ form: 'json', value });
  const { sources } = readSources({ url }, rules, { headers: undefined, credential });
  const [source] = sources;
  const isTaggable =
    source.scheme === 's3' && (credential !== undefined || isKeyed(source)) && !source.url.includes('?');
  if (tagObjects && !isTaggable) throw invalid('url', TAGGABLE);
  const [display, plain] = [hideQuery(source.url), !holdsCredentials(source)];
  return { address: url, ref, display, plain, host: hostOf(source), earlier: sent.earlier };
}

/** How long the event loop is held at once. */
const SLICE_MS = 5;

/** Lets others have their turn after each slice of work, and the account pay for it. */
export function makeSlices(pace: (busyMs: number) => Promise<void> | undefined) {
  let began = performance.now();
  const pay = async (): Promise<void> => {
    await pace(performance.now() - began);
    await turn();
    began = performance.now();
  };
  return { next: (): Promise<void> | undefined => (performance.now() - began < SLICE_MS ? undefined : pay()), pay };
}

export type Slices = ReturnType<typeof makeSlices>;

const MOST_NAMED = 20;

async function itemsIn(
  deps: Deps,
  by: Asker,
  sent: Iterable<Sent> | AsyncIterable<Sent>,
  template: Common,
): Promise<ReadItem[]> {
  const token = tokenOf(by);
  const rules = sourceRules(deps.settings, token);
  const slices = makeSlices(deps.paceOf(token.rootUserId));
  const items: ReadItem[] = [];
  const errors: ApiError[] = [];
  let n = 0;
  for await (const one of sent) {
    try {
      items.push(itemIn(one, rules, template));
    } catch (error) {
      const placed = placedError(n, error);
      errors.push(placed);
      if (errors.length >= MOST_NAMED) break;
    }
    n += 1;
    await slices.next();
  }
  await slices.pay();
  const [first] = errors;
  if (first)
    throw new ApiError(first.code, {
      text: errors.map(({ message }) => message).join('; '),
      ...(first.field === undefined ? {} : { field: first.field }),
      toolCode: first.toolCode,
    });
  if (items.length === 0) throw invalid('items', 'must have at least 1 value');
  return items;
}

/** Throws what is not the item's fault. */
function placedError(n: number, error: unknown): ApiError {
  const placed = within(`items.${n}`, error);
  if (placed instanceof ApiError && placed.status === 400) return placed;
  throw placed;
}

// Items of an earlier batch.

const FAILED: readonly ItemState[] = ['error', 'with-errors', 'skipped'];
const isFailed = ({ state, reason }: BatchItem): boolean => FAILED.includes(state) && reason !== 'Unchanged';

/** Whose result is right for the source as it was then. */
const earlierOf = ({ state, reason, requestId: id, submittedAt }: BatchItem): EarlierRequest | undefined =>
  (state === 'success' || reason === 'Unchanged') && id !== null && submittedAt !== null
    ? { id, submittedAt }
    : undefined;

/** Those whose address is known: when an item has ended, that which it shows is all that is kept of it. */
async function* itemsFrom(
  deps: Pick<Deps, 'store'>,
  by: Asker,
  { batch: id, only }: NonNullable<Head['from']>,
  onLeftOut: () => void,
): AsyncGenerator<Sent> {
  const batch = await deps.store.readBatch(id.toLowerCase());
  if (batch?.userId !== tokenOf(by).userId)
    throw new ApiError('not-found', { text: 'from.batch: there is no such batch', field: 'from.batch' });
  let [kept, lost] = [0, 0];
  for await (const page of itemPages(deps, batch))
    for (const item of page) {
      const { n, display, plain, ref } = item;
      // A listing.
      if (n === 0 && batch.listing !== null) continue;
      if (only === 'failed' && !isFailed(item)) continue;
      if (plain && display !== '') {
        kept += 1;
        if (kept > MOST_ITEMS) throw invalid('from', `has more than ${MOST_ITEMS} such items; list them by yourself`);
        yield { value: { url: display, ref }, earlier: only === 'changed' ? earlierOf(item) : undefined };
      } else {
        lost += 1;
        onLeftOut();
      }
    }
  if (kept > 0) return;
  throw invalid('from', `leaves no items: ${lost === 0 ? 'none of the batch failed' : `${lost} of them ${UNKNOWN}`}`);
}
const UNKNOWN = 'had an address with a credential or a query, or were erased';

async function* itemsAt(deps: Deps, by: Asker, address: string, gone: AbortSignal): AsyncGenerator<Sent> {
  yield* itemLines(await linesAt(deps, by, address, gone));
}

function itemsOf(
  deps: Deps,
  by: Asker,
  { from, items_url: address, bucket }: Head,
  { sent, gone, onLeftOut }: { sent: SentBatch['items']; gone: AbortSignal; onLeftOut: () => void },
) {
  const given = [
    sent,
    address === null ? undefined : itemsAt(deps, by, address, gone),
    from && itemsFrom(deps, by, from, onLeftOut),
    bucket && [],
  ].filter((items) => items !== undefined);
  const [items] = given;
  if (items === undefined) throw invalid('items', 'is required');
  if (given.length > 1) throw new ApiError('invalid-field', { text: ONE_OF_THEM, field: 'items' });
  return items;
}
const ONE_OF_THEM = 'items, items_url, from and bucket: only one of them is accepted';

function listingItem(deps: Deps, by: Asker, { url }: NonNullable<Head['bucket']>, template: Common): ReadItem {
  const address = listedAddress(url);
  const rules = sourceRules(deps.settings, tokenOf(by));
  try {
    // Not for another batch, as the address of an item.
    return { ...itemIn({ value: address }, rules, template), plain: false };
  } catch (error) {
    throw within('bucket', error);
  }
}

const WITH_URL = 'has an effect with webhook_url alone';

/** `gone`: whoever sent it does not wait any more. */
export async function batchRequest(deps: Deps, by: Asker, body: TextBody, gone: AbortSignal): Promise<BatchRequest> {
  const sent = body.mediaType === LINES ? inLines(body.text) : inJson(body.value);
  const head = readHead({ form: 'json', value: sent.head });
  if (readWebhookUrl(by.method, head, deps.settings) === null) {
    if (head.webhook_every !== null) throw invalid('webhook_every', WITH_URL);
    if (head.webhook_items) throw invalid('webhook_items', WITH_URL);
  }
  const { template: probe, ignored } = await templateIn(deps, by, head.probe);
  const template: KeptTemplate = {
    ...probe,
    ...(head.webhook_format === 'cloudevents' ? { webhookFormat: head.webhook_format } : {}),
    ...(head.tag_objects ? { tagObjects: true } : {}),
    ...(head.webhook_items ? { webhookItems: true } : {}),
    ...(head.from?.only === 'changed' ? { onlyChanged: true } : {}),
  };
  let leftOut = 0;
  const given = itemsOf(deps, by, head, { sent: sent.items, gone, onLeftOut: () => (leftOut += 1) });
  const { bucket } = head;
  // Objects of a bucket have no cached results, and share jobs.
  template.fields.cache.max_age ??= bucket === undefined ? tokenOf(by).limits.cacheMaxAgeS : 0;
  if (bucket !== undefined) {
    const items = [listingItem(deps, by, bucket, template)];
    return { head, template, ignored, listing: newListing(bucket), readItems: async () => ({ items, leftOut }) };
  }
  const readItems = async () => ({ items: await itemsIn(deps, by, given, template), leftOut });
  return { head, template, ignored, listing: null, readItems };
}
