/** Tables: paged, sorted and filtered by the server; page and order stand in the address. And their usual columns. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { changed, goWith, hrefOf, hrefWith, usePlace } from '../router.ts';
import { Copy } from './copy.tsx';
import { csv } from './csv.ts';
import { count, type Figure } from './figures.ts';
import { Mark, Reason, Stranger, Status, Amount, Time } from './values.tsx';

export interface Column<Row> {
  title: string;
  /** As it is copied. */
  text: (row: Row) => string;
  /** None: as it is copied. */
  show?: (row: Row) => ComponentChildren;
  /** The name by which the server sorts it. */
  sort?: string;
  right?: boolean;
  /** What is read first, and long. */
  wide?: true;
  /** Copied, and not shown. */
  hidden?: true;
}

interface Echo {
  /** `at-least`: there are more rows than the total says. */
  pagination: { page: number; limit: number; total: number; 'total-is'?: 'exact' | 'at-least' };
  sort: { field: string; order: string };
}

export interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** None: its place. */
  keyOf?: (row: Row) => string | number;
  /** None: all rows are here. */
  echo?: Echo;
  /** Of a list that is not counted: where its next page begins. Null: there is none. */
  next?: string | number | null;
  /** The pointer or the focus is on the link to a page: it may be asked for. */
  ahead?: (page: number) => void;
  /** Stands in its place where there are no rows at all. */
  children?: ComponentChildren;
}

/** Page and order as the address has them, for the call. */
export function useListing<F extends string>(fields: readonly F[], field: F, order: 'asc' | 'desc') {
  const { query } = usePlace();
  const wanted = fields.find((one) => one === query.get('sort')) ?? field;
  const wantedOrder: 'asc' | 'desc' = ({ asc: 'asc', desc: 'desc' }[query.get('order') ?? ''] as 'asc') ?? order;
  return {
    pagination: {
      page: Math.min(Math.max(1, Math.floor(Number(query.get('page')) || 1)), 1_000_000),
      limit: Math.min(Math.max(1, Math.floor(Number(query.get('limit')) || 25)), 1_000),
    },
    sort: { field: wanted, order: wantedOrder },
  };
}

function Head<Row>({ column, sort }: { column: Column<Row>; sort: Echo['sort'] | undefined }) {
  const className = column.right ? 'right' : undefined;
  if (column.sort === undefined || !sort)
    return (
      <th scope="col" class={className}>
        {column.title}
      </th>
    );
  const own = sort.field === column.sort;
  const next = own && sort.order === 'desc' ? 'asc' : 'desc';
  return (
    <th scope="col" class={className} aria-sort={own ? (sort.order === 'asc' ? 'ascending' : 'descending') : 'none'}>
      <button type="button" class="sort" onClick={() => goWith({ sort: column.sort!, order: next, page: null }, false)}>
        {column.title}
        <span aria-hidden="true">{own ? (sort.order === 'asc' ? ' ▲' : ' ▼') : ' ↕'}</span>
      </button>
    </th>
  );
}

interface PagesProps {
  of: Echo['pagination'];
  ahead: TableProps<unknown>['ahead'];
}

function Pages({ of: { page, limit, total, 'total-is': totalIs }, ahead }: PagesProps) {
  const { path, query } = usePlace();
  const isBound = totalIs === 'at-least';
  const last = Math.max(1, Math.ceil(total / limit));
  const link = (to: number, label: string) => {
    if (to < 1 || to > last || to === page) return <span class="unit">{label}</span>;
    const ask = () => ahead?.(to);
    return (
      <a href={hrefOf(path, changed(query, { page: to === 1 ? null : String(to) }))} onPointerEnter={ask} onFocus={ask}>
        {label}
      </a>
    );
  };
  const first = (page - 1) * limit + 1;
  return (
    <nav class="pages" aria-label="Pages">
      <span role="status">
        {total === 0
          ? 'No rows'
          : `${count(first)} to ${count(Math.min(total, page * limit))} of ` +
            (isBound ? `more than ${count(total - 1)}` : count(total))}
      </span>
      {link(1, 'First')}
      {link(page - 1, 'Previous')}
      {link(page + 1, 'Next')}
      {isBound ? <span class="unit">Last</span> : link(last, 'Last')}
    </nav>
  );
}

/** Where this page begins stands in the address, as the number of a page does elsewhere. */
function Cursor({ next }: { next: string | number | null }) {
  const { query } = usePlace();
  return (
    <nav class="pages" aria-label="Pages">
      {query.has('page') ? <a href={hrefWith({ page: null })}>First</a> : <span class="unit">First</span>}
      {next === null ? <span class="unit">Next</span> : <a href={hrefWith({ page: String(next) })}>Next</a>}
    </nav>
  );
}

/** A browser draws this many in a moment. */
const MOST_ROWS = 200;

export function Table<Row>({ caption, columns, rows, keyOf, echo, next, ahead, children }: TableProps<Row>) {
  const [chosen, setChosen] = useState(0);
  const part = Math.min(chosen, Math.max(0, Math.ceil(rows.length / MOST_ROWS) - 1));
  const drawn = rows.slice(part * MOST_ROWS, (part + 1) * MOST_ROWS);
  if (children && (echo?.pagination.total ?? rows.length) === 0)
    return (
      <>
        {children}
        {typeof next === 'number' && <Cursor next={next} />}
      </>
    );
  const shown = columns.filter(({ hidden }) => !hidden);
  return (
    <section class="listing">
      <Parts what="Rows" total={rows.length} most={MOST_ROWS} part={part} choose={setChosen} />
      <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {shown.map((column) => (
                <Head key={column.title} column={column} sort={echo?.sort} />
              ))}
            </tr>
          </thead>
          <tbody>
            {drawn.map((row, index) => (
              <tr key={keyOf ? keyOf(row) : part * MOST_ROWS + index}>
                {shown.map((column) => (
                  <td key={column.title} class={column.right ? 'right' : column.wide ? 'wide' : undefined}>
                    {(column.show ?? column.text)(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="under">
        {echo && <Pages of={echo.pagination} ahead={ahead} />}
        {next !== undefined && <Cursor next={next} />}
        <span class="copies">
          <Copy text={() => JSON.stringify(drawn, null, 2)}>Copy as JSON</Copy>
          <Copy
            text={() =>
              csv([columns.map(({ title }) => title), ...drawn.map((row) => columns.map(({ text }) => text(row)))])
            }
          >
            Copy as CSV
          </Copy>
        </span>
      </div>
    </section>
  );
}

// Names and values, as of a file or a request. A text may be a stranger's; what is not known is left out.

type Fact = readonly [name: string, value: ComponentChildren, code?: string | undefined];

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.flatMap(([name, value, code]) =>
        value === undefined || value === false || value === ''
          ? []
          : [
              <dt key={name}>{name}</dt>,
              <dd key={`${name} value`}>{typeof value === 'string' ? <Reason text={value} code={code} /> : value}</dd>,
            ],
      )}
    </dl>
  );
}

interface SumsProps {
  kind?: 'sums' | 'around';
  sums: readonly (readonly [name: string, value: ComponentChildren])[];
}

/** Figures that are read first, or what stands around a thing. */
export function Sums({ kind = 'sums', sums }: SumsProps) {
  return (
    <dl class={kind}>
      {sums.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface PartsProps {
  /** Of which there are too many to be drawn at once. */
  what: 'Lines' | 'Rows';
  total: number;
  /** In one part. */
  most: number;
  part: number;
  choose: (part: number) => void;
}

export function Parts({ what, total, most, part, choose }: PartsProps) {
  const last = Math.ceil(total / most) - 1;
  if (last < 1) return null;
  return (
    <p class="actions">
      <span role="status">
        {what} {count(part * most + 1)} to {count(Math.min(total, (part + 1) * most))} of {count(total)}
      </span>
      <button type="button" class="small" disabled={part === 0} onClick={() => choose(part - 1)}>
        Earlier {what.toLowerCase()}
      </button>
      <button type="button" class="small" disabled={part === last} onClick={() => choose(part + 1)}>
        Later {what.toLowerCase()}
      </button>
    </p>
  );
}

// Columns of the usual kinds: how a value is shown and how it is copied, said once for each kind.

type Of<Row, T> = (row: Row) => T | undefined;

interface Options<Row> {
  /** The page that it leads to. */
  to?: Of<Row, string>;
  /** A word behind it. */
  mark?: Of<Row, string | false>;
  /** Stands under it, in the words of whatever decided it, and the code of that for programs. */
  why?: Of<Row, string>;
  code?: Of<Row, string>;
  /** Characters of a text that are shown at first. */
  most?: number;
  sort?: string;
  right?: boolean;
  wide?: true;
  /** Shown where there is no value, or an empty text. */
  none?: ComponentChildren;
}

function columnOf<Row, T>(
  title: string,
  of: Of<Row, T>,
  show: (value: T) => ComponentChildren,
  { none = <span class="unit">–</span>, to, mark, why, code, most, ...options }: Options<Row>,
): Column<Row> {
  return {
    title,
    show(row) {
      const value = of(row);
      const shown = value === undefined || value === '' ? none : show(value);
      const [address, word, reason] = [to?.(row), mark?.(row), why?.(row)];
      return (
        <>
          {address === undefined ? shown : <a href={address}>{shown}</a>}
          {word && <Mark text={word} />}
          {reason !== undefined && (
            <div class="unit">
              <Reason text={reason} code={code?.(row)} most={most} />
            </div>
          )}
        </>
      );
    },
    text: (row) => `${of(row) ?? ''} ${why?.(row) ?? ''}`.trim(),
    ...options,
  };
}

export const timeColumn = <Row,>(title: string, of: Of<Row, string>, options: Options<Row> = {}): Column<Row> =>
  columnOf(title, of, (iso) => <Time iso={iso} />, options);

export const statusColumn = <Row,>(title: string, of: Of<Row, string>, options: Options<Row> = {}): Column<Row> =>
  columnOf(title, of, (status) => <Status of={status} />, options);

export const strangerColumn = <Row,>(title: string, of: Of<Row, string>, options: Options<Row> = {}): Column<Row> =>
  columnOf(title, of, (text) => <Stranger text={text} most={options.most} />, options);

export const codeColumn = <Row,>(title: string, of: Of<Row, string>, options: Options<Row> = {}): Column<Row> =>
  columnOf(title, of, (text) => <code>{text}</code>, options);

export const countColumn = <Row,>(title: string, of: Of<Row, number>, options: Options<Row> = {}): Column<Row> =>
  columnOf(title, of, count, { right: true, ...options });

export const amountColumn = <Row,>(
  title: string,
  of: Of<Row, number>,
  figure: (value: number) => Figure,
  options: Options<Row> = {},
): Column<Row> => columnOf(title, of, (value) => <Amount {...figure(value)} />, { right: true, ...options });
