/** Columns of the usual kinds: how a value is shown and how it is copied, said once for each kind. */
import type { ComponentChildren } from 'preact';
import { count, type Figure } from './figures.ts';
import { Status } from './status.tsx';
import { Below, Stranger } from './stranger.tsx';
import type { Column } from './table.tsx';
import { Amount, Time } from './time.tsx';

export const NOTHING = <span class="unit">–</span>;

type Of<Row, T> = (row: Row) => T | undefined;

interface Options {
  sort?: string;
  right?: boolean;
  wide?: true;
  /** Shown where there is no value. */
  none?: ComponentChildren;
}

function column<Row, T>(
  title: string,
  of: Of<Row, T>,
  show: (value: T, row: Row) => ComponentChildren,
  { none = NOTHING, ...options }: Options,
): Column<Row> {
  return {
    title,
    show(row) {
      const value = of(row);
      return value === undefined ? none : show(value, row);
    },
    text: (row) => String(of(row) ?? ''),
    ...options,
  };
}

export const timeColumn = <Row,>(title: string, of: Of<Row, string>, options: Options = {}): Column<Row> =>
  column(title, of, (iso) => <Time iso={iso} />, options);

interface StrangerOptions extends Options {
  most?: number;
}

interface StatusOptions<Row> extends StrangerOptions {
  /** Stands under it, in the words of whatever decided it. */
  why?: Of<Row, string>;
}

export function statusColumn<Row>(
  title: string,
  of: Of<Row, string>,
  { why, most, ...options }: StatusOptions<Row> = {},
): Column<Row> {
  const show = (status: string, row: Row) => (
    <>
      <Status of={status} />
      <Below text={why?.(row)} most={most} />
    </>
  );
  return { ...column(title, of, show, options), text: (row) => `${of(row) ?? ''} ${why?.(row) ?? ''}`.trim() };
}

export const strangerColumn = <Row,>(
  title: string,
  of: Of<Row, string>,
  { most, ...options }: StrangerOptions = {},
): Column<Row> => column(title, of, (text) => <Stranger text={text} most={most} />, options);

export const countColumn = <Row,>(title: string, of: Of<Row, number>, options: Options = {}): Column<Row> =>
  column(title, of, count, { right: true, ...options });

export const amountColumn = <Row,>(
  title: string,
  of: Of<Row, number>,
  figure: (value: number) => Figure,
  options: Options = {},
): Column<Row> => column(title, of, (value) => <Amount {...figure(value)} />, { right: true, ...options });
