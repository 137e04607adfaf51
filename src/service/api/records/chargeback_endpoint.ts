/** What each account used in a month, as lines of CSV or JSON, for those who charge it. */
import Type, { type Static } from 'typebox';
import type { Charged, Month } from '../../../platform/store/chargeback.ts';
import { DECODED } from '../accounts/account_limits.ts';
import { Labels } from '../accounts/account_labels.ts';
import type { Deps } from '../deps.ts';
import { invalid } from '../errors.ts';
import { endpoint, withoutNull } from '../http/endpoint.ts';
import { exportPages } from '../http/export_pages.ts';
import { checkedBy } from '../http/read_input.ts';
import { callerOf, type Context } from '../http/request_context.ts';
import { choice, closed, component, optionalText, orNull } from '../http/request_fields.ts';

const Query = closed({
  month: optionalText(7, 'Such as 2026-10, in UTC. Default: the last finished month.', '^20\\d\\d-(0[1-9]|1[0-2])$'),
  format: choice(['csv', 'ndjson'], 'csv', 'csv: a line of names, then a line for each row. ndjson: lines of JSON.'),
});

const Row = component('ChargebackRow', {
  month: Type.String(),
  'account-id': orNull(Type.Integer({ description: 'The root user. Absent: erased accounts with these labels.' })),
  labels: Labels,
  'request-count': Type.Integer({ description: 'Ended requests.' }),
  success: Type.Integer(),
  'with-errors': Type.Integer(),
  error: Type.Integer(),
  'processing-time': Type.Integer({ description: 'Billed milliseconds of tools.' }),
  'data-processed': Type.Integer({ description: 'Bytes read from origins.' }),
  'decoded-seconds': Type.Integer({ description: DECODED }),
});
type Row = Static<typeof Row>;

/** The whole month in UTC that this text names, or the one before now. */
export function monthOf(asked: string | null, now: Date): { name: string; month: Month } {
  const current = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()));
  const from = asked === null ? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)) : new Date(asked);
  if (from > current) throw invalid('month', `must not be after this month, ${current.toISOString().slice(0, 7)}`);
  const to = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1));
  return { name: from.toISOString().slice(0, 7), month: { from, to } };
}

const rowOf = (month: string, { accountId, labels, used }: Charged): Row => ({
  month,
  'account-id': accountId,
  labels,
  'request-count': used['request-count'],
  success: used.success,
  'with-errors': used['with-errors'],
  error: used.error,
  'processing-time': used['processing-time'],
  'data-processed': used['data-processed'],
  'decoded-seconds': used['decoded-seconds'],
});

/** Labels as kubectl prints them. No value has a quote, or begins with what a spreadsheet calculates. */
const csvOf = (row: Row): string =>
  Object.values({
    ...row,
    'account-id': row['account-id'] ?? '',
    labels: `"${Object.entries(row.labels)
      .map((pair) => pair.join('='))
      .toSorted()
      .join()}"`,
  }).join();

const WRITERS = {
  csv: {
    type: 'text/csv',
    head: `${Object.keys(Row.properties).join()}\n`,
    line: (row: Row): string => `${csvOf(row)}\n`,
  },
  ndjson: {
    type: 'application/x-ndjson',
    head: '',
    line: (row: Row): string => `${JSON.stringify(row, withoutNull)}\n`,
  },
} as const;

const ACCOUNTS = 100;

async function* pagesOf({ store }: Deps, month: Month): AsyncGenerator<Charged[], void> {
  for (let after = 0, more = true; more;) {
    const rows = await store.chargeback(month, after, ACCOUNTS);
    yield rows;
    more = rows.length === ACCOUNTS;
    after = rows.at(-1)?.accountId ?? after;
  }
  yield await store.chargebackOfErased(month);
}

async function answer(deps: Deps, ctx: Context): Promise<void> {
  const { month: asked, format } = checkedBy(Query, ctx);
  const { name, month } = monthOf(asked, new Date(deps.store.clock.now()));
  const { line, ...form } = WRITERS[format];
  await exportPages(ctx, {
    ...form,
    file: `chargeback-${name}.${format}`,
    line: (one) => (one.used['request-count'] > 0 ? line(rowOf(name, one)) : ''),
    pages: pagesOf(deps, month),
    pace: deps.paceOf(callerOf(ctx).rootUserId),
  });
}

export const statisticsChargeback = endpoint(
  'GET statistics/chargeback',
  {
    id: 'exportChargeback',
    summary: 'Monthly chargeback',
    query: Query,
    description:
      'A row for each account that used anything in the month, with its labels as they are now. What erased users ' +
      'used in finished months stays: that of sub-users with their account, that of accounts in one row for each ' +
      'set of labels. An answer that is cut is incomplete.',
    answer: {
      description: 'All rows.',
      mediaType: 'text/csv',
      schema: Type.String(),
      otherTypes: { 'application/x-ndjson': Row },
    },
  },
  answer,
);
