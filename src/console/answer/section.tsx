/** Parts of an answer, as the console shows them. */
import type { ComponentChildren } from 'preact';
import {
  type Cell,
  type Column as CellColumn,
  copied,
  type Nothing,
  type Part,
  type Span,
  spansIn,
  textIn,
} from '../../media/answer/section.ts';
import { Empty } from '../parts/states.tsx';
import { type Column, Facts, Table } from '../parts/table.tsx';
import { Mark, Status, Stranger } from '../parts/values.tsx';

function Styled({ text, as, most }: Pick<Span, 'text' | 'as' | 'most'>) {
  const content = <Stranger text={text} most={most} />;
  switch (as) {
    case undefined:
      return content;
    case 'status':
      return <Status of={text} />;
    case 'mark':
      return <Mark text={text} />;
    case 'code':
      return <code>{content}</code>;
    case 'chosen':
      return (
        <span class="chosen">
          <span aria-hidden="true">✓</span> {content} <span class="unseen">(chosen)</span>
        </span>
      );
    case 'line':
      return <div class="unit">{content}</div>;
    case 'quiet':
      return <span class="unit">{content}</span>;
  }
}

const shown = (cell: Cell): ComponentChildren =>
  spansIn(cell).map(({ to, ...span }, at) => [
    at > 0 && ' ',
    to === undefined ? (
      <Styled {...span} />
    ) : (
      <a href={to}>
        <Styled {...span} />
      </a>
    ),
  ]);

export const shownColumn = <Row,>(column: CellColumn<Row>): Column<Row> => ({
  title: column.title,
  text: (row) => copied(column, row),
  show: (row) => shown(column.cell(row)),
  right: column.right === true,
});

export const NothingThere = ({ nothing, why }: Nothing) => (
  <Empty title={nothing}>
    <p>{why}</p>
  </Empty>
);

function PartOf({ part }: { part: Part }) {
  if ('columns' in part) {
    const { caption, columns, rows, none } = part;
    if (rows.length === 0) return none ? <NothingThere {...none} /> : null;
    return <Table caption={caption} columns={columns.map(shownColumn)} rows={rows} />;
  }
  if ('facts' in part)
    return <Facts facts={part.facts.map(([name, value]) => [name, textIn(value) !== '' && shown(value)])} />;
  if ('nothing' in part) return <NothingThere {...part} />;
  if ('sentence' in part) return textIn(part.sentence) === '' ? null : <p>{shown(part.sentence)}</p>;
  return (
    <details>
      <summary>
        <Stranger text={part.folded} />
      </summary>
      <AnswerParts parts={part.parts} />
    </details>
  );
}

export const AnswerParts = ({ parts }: { parts: readonly Part[] }) => (
  <>
    {parts.map((part, at) => (
      <PartOf key={at} part={part} />
    ))}
  </>
);
