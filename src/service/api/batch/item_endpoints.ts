/** The items of a batch: a page of them with filters, and all of them as a file. */
import { csvCell, isFormula } from '../../../base/csv.ts';
import Type, { type Static } from 'typebox';
import { FACET_NAMES, FACETS, type Facet, LONGEST_VALUE } from '../../../media/policy/facets.ts';
import type { BatchItem } from '../../../platform/store/batch_items.ts';
import type { Pace } from '../../result/pace.ts';
import { endpoint } from '../http/endpoint.ts';
import { exportPages, inLines } from '../http/export_pages.ts';
import { type Columns, makeParquet } from '../http/parquet.ts';
import { LOWERED_TO } from '../http/input/read_fields.ts';
import { tokenOf } from '../http/request_context.ts';
import { choice, closed, optionalChoice, optionalText, optionalWhole } from '../http/request_fields.ts';
import { BatchItemSchema, BatchItemsSchema, ITEM_FACETS, ITEM_STATES } from './batch_answers.ts';
import { ownBatch } from './batch_endpoints.ts';
import { type ItemFilters, itemPage, itemPages } from './item_pages.ts';

const BATCH_PARAM = { id: Type.String({ format: 'uuid', description: "The batch's id." }) };

type Shown = Static<typeof BatchItemSchema>;

const timeOrNull = (time: Date | null): string | null => time?.toISOString() ?? null;

const ofFacets = <T>(of: (facet: (typeof ITEM_FACETS)[number]) => T) =>
  Object.fromEntries(ITEM_FACETS.map((facet) => [facet, of(facet)])) as Record<(typeof ITEM_FACETS)[number], T>;

const shownItem = (item: BatchItem): Shown => ({
  n: item.n,
  url: item.display,
  ref: item.ref,
  state: item.state,
  tries: item.tries,
  request_id: item.requestId,
  submitted_at: timeOrNull(item.submittedAt),
  not_before: item.state === 'waiting' ? timeOrNull(item.notBefore) : null,
  ended_at: timeOrNull(item.endedAt),
  status: item.status,
  reason: item.reason,
  code: item.code,
  policy_outcome: item.policyOutcome,
  io_bytes: item.ioBytes,
  ...ofFacets((facet) => item.facets?.[facet]?.join('; ') ?? null),
});

const FILTERS = {
  state: optionalChoice(ITEM_STATES, 'Items in this state.'),
  code: optionalText(64, 'Failed items with this `code`, or with this `reason` if they have no code.'),
  ...(Object.fromEntries(
    FACET_NAMES.map((facet) => [facet, optionalText(LONGEST_VALUE, `Only items with this value. ${FACETS[facet]}`)]),
  ) as Record<Facet, ReturnType<typeof optionalText>>),
};

type Asked = { [name in Facet | 'code']: string | null } & { state: ItemFilters['state'] | null };

function filtersOf({ state, code, ...facets }: Asked, pace: Pace): ItemFilters {
  const asked = FACET_NAMES.flatMap((facet) => (facets[facet] === null ? [] : [[facet, facets[facet]]]));
  return {
    state: state ?? undefined,
    code: code ?? undefined,
    ...(asked.length > 0 ? { search: { facets: Object.fromEntries(asked), pace } } : {}),
  };
}

export const listBatchItems = endpoint('GET /v1/batch/:id/items', {
  id: 'listBatchItems',
  summary: 'List items of a batch',
  description:
    'In the order in which they were sent. By facets, a page may have fewer items than `limit`, or none, and a ' +
    '`next`: each looks at 50,000 items.',
  params: BATCH_PARAM,
  query: closed({
    after: optionalWhole(0, 2_147_483_647, '`next` of the page before.'),
    limit: Type.Integer({ minimum: 1, default: 100, [LOWERED_TO]: 1000, description: 'Items; at most 1,000.' }),
    ...FILTERS,
  }),
  answer: { description: 'A page of items.', schema: BatchItemsSchema },
  async work(deps, ctx, { after, limit, ...asked }) {
    const batch = await ownBatch(deps, ctx);
    const filters = filtersOf(asked, deps.paceOf(tokenOf(ctx).rootUserId));
    const { items, next } = await itemPage(deps, batch, { after: after ?? -1, limit, ...filters });
    return { items: items.map(shownItem), next };
  },
});

// All items, as a file.

const NAMES = Object.keys(BatchItemSchema.properties) as (keyof Shown)[];

const cell = (value: unknown): string =>
  value === null ? '' : csvCell(String(value), typeof value === 'string' && isFormula(value));

const LINES = {
  ndjson: { type: 'application/x-ndjson', head: '', line: (item: Shown): string => `${JSON.stringify(item)}\n` },
  csv: {
    type: 'text/csv',
    head: `${NAMES.join()}\n`,
    line: (item: Shown): string => `${NAMES.map((name) => cell(item[name])).join()}\n`,
  },
} as const;

const PARQUET = 'application/vnd.apache.parquet';
/** A group of rows: each holds the event loop for some 30 ms, and adds 1 kB to the end of the file. */
const ROWS_OF_GROUP = 2_000;
const COLUMNS: Columns<Shown> = {
  n: 'INT32',
  url: 'STRING',
  ref: 'STRING',
  state: 'STRING',
  tries: 'INT32',
  request_id: 'STRING',
  submitted_at: 'TIMESTAMP',
  not_before: 'TIMESTAMP',
  ended_at: 'TIMESTAMP',
  status: 'INT32',
  reason: 'STRING',
  code: 'STRING',
  policy_outcome: 'STRING',
  io_bytes: 'INT64',
  ...ofFacets(() => 'STRING' as const),
};

async function formOf(format: 'ndjson' | 'csv' | 'parquet') {
  if (format !== 'parquet') {
    const { line, ...form } = LINES[format];
    return { ...form, write: inLines((item: BatchItem) => line(shownItem(item))) };
  }
  const { write, end } = await makeParquet(COLUMNS);
  return { type: PARQUET, head: '', write: (items: readonly BatchItem[]) => write(items.map(shownItem)), end };
}

export const exportBatchItems = endpoint('GET /v1/batch/:id/results', {
  id: 'exportBatch',
  summary: 'Export the items of a batch',
  description:
    'All items as they are now, in the order in which they were sent. The result of each is at ' +
    '`/v1/probe/{request_id}`, for as long as results are kept. An answer that is cut is incomplete.',
  params: BATCH_PARAM,
  query: closed({
    format: choice(
      ['ndjson', 'csv', 'parquet'],
      'ndjson',
      'ndjson: lines of JSON. csv: a line of names, then a line for each item. parquet: a row for each item.',
    ),
    ...FILTERS,
  }),
  answer: {
    description: 'A line or row for each item.',
    mediaType: 'application/x-ndjson',
    schema: BatchItemSchema,
    otherTypes: { 'text/csv': Type.String(), [PARQUET]: Type.String({ format: 'binary' }) },
  },
  async work(deps, ctx, { format, ...asked }) {
    const batch = await ownBatch(deps, ctx);
    const pace = deps.paceOf(tokenOf(ctx).rootUserId);
    await exportPages(ctx, {
      ...(await formOf(format)),
      file: `batch-${batch.id}.${format}`,
      pages: itemPages(deps, batch, filtersOf(asked, pace), format === 'parquet' ? ROWS_OF_GROUP : undefined),
      pace,
    });
  },
});
