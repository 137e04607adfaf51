/** Where the tools disagree, and who is right. Fields on which they agree are one line. */
import type { ProbeReport } from '../../api_types.ts';
import { codeColumn, strangerColumn, Table, type Column } from '../parts/table.tsx';
import { textOf } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { Stranger } from '../parts/values.tsx';

type Difference = NonNullable<ProbeReport['diff']>[number];

const TOOLS = ['ffprobe', 'mediainfo'] as const;
const WITH_PICTURES = [...TOOLS, 'bitstream'] as const;

/** Of the pictures, nothing that is absent is denied. */
const saidBy = (witness: (typeof WITH_PICTURES)[number], row: Difference): string =>
  textOf(row[witness] ?? undefined, witness === 'bitstream' ? '' : 'does not see it');

function Confidence({ value }: { value: number | undefined }) {
  if (value === undefined) return <span class="unit">not measured</span>;
  const percent = Math.round(value * 100);
  return (
    <span class="measured">
      <meter min={0} max={100} value={percent} aria-label={`confidence ${percent} %`} />
      {percent} %
    </span>
  );
}

const confidenceColumn = <Row,>(of: (row: Row) => number | undefined): Column<Row> => ({
  title: 'Confidence',
  show: (row) => <Confidence value={of(row)} />,
  text: (row) => String(of(row) ?? ''),
});

/** A third column where a value was read from the pictures. */
const columnsOf = (diff: readonly Difference[]): readonly Column<Difference>[] => [
  codeColumn('Field', ({ path }) => path),
  ...(diff.some((row) => row.bitstream !== undefined) ? WITH_PICTURES : TOOLS).map((tool): Column<Difference> => ({
    title: tool,
    show: (row) => (
      <span class={row.chosen === tool ? 'chosen' : 'unit'}>
        {row.chosen === tool && <span aria-hidden="true">✓ </span>}
        <Stranger text={saidBy(tool, row)} most={100} />
        {row.chosen === tool && <span class="unseen"> (chosen)</span>}
      </span>
    ),
    text: (row) => saidBy(tool, row),
  })),
  confidenceColumn(({ confidence }) => confidence),
  strangerColumn('Why', ({ reason }) => reason),
];

const AGREED: readonly Column<[path: string, confidence: number]>[] = [
  codeColumn('Field', ([path]) => path),
  confidenceColumn(([, confidence]) => confidence),
];

function Agreed({ report }: { report: ProbeReport }) {
  const disputed = new Set(report.diff?.map(({ path }) => path));
  const agreed = Object.entries(report.confidence).filter(([path]) => !disputed.has(path));
  if (agreed.length === 0) return null;
  return (
    <details>
      <summary>{agreed.length} fields of known confidence are not disputed</summary>
      <Table caption="Fields that are not disputed" columns={AGREED} rows={agreed} keyOf={([path]) => path} />
    </details>
  );
}

export function Disagreements({ report }: { report: ProbeReport }) {
  const { diff } = report;
  return (
    <>
      {diff === undefined ? (
        <Empty title="The differences were left out">
          <p>
            The request had <code>probe_report.diff</code> switched off.
          </p>
        </Empty>
      ) : (
        <Table caption="Disagreements" columns={columnsOf(diff)} rows={diff} keyOf={({ path }) => path}>
          <Empty title="The tools agree">
            <p>Or one of them gave no result: the overview says so.</p>
          </Empty>
        </Table>
      )}
      <Agreed report={report} />
    </>
  );
}
