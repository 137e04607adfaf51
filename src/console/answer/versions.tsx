/** What several runs of a tool say differently: a field in each row, a version or a source in each column. */
import { amountColumn, statusColumn, Table, type Column } from '../parts/table.tsx';
import { FilterChoice } from '../parts/filters.tsx';
import { joined, milliseconds, several, textOf } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { Mark, Stranger } from '../parts/values.tsx';
import { usePlace } from '../router.ts';
import {
  cellsOf,
  isOfTwoSources,
  runsOf,
  type Cell,
  type ChangedField,
  type ComparedRun,
  type StoredComparison,
} from './matrix.ts';

function CellOf({ cell: { value, change } }: { cell: Cell }) {
  return (
    <span class={change === null ? 'unit' : 'differs'}>
      {value === undefined ? (
        <span class="unit">–</span>
      ) : (
        <Stranger text={value === '' ? 'empty text' : textOf(value)} most={80} />
      )}
      {change !== null && <Mark text={change} />}
    </span>
  );
}

function FieldName({ field: { path, level, to, count, known } }: { field: ChangedField }) {
  return (
    <>
      <Stranger text={joined(' → ', [path, to])} most={240} />
      {count !== undefined && <span class="unit"> and {several(count - 1, 'further item')}</span>}
      {level === 'raw' && <Mark text="as printed" />}
      {known && (
        <p class="known">
          <span class="mark">intended in {known.release}</span> {known.note}
        </p>
      )}
    </>
  );
}

const columnsOf = (runs: readonly string[]): readonly Column<ChangedField>[] => [
  { title: 'Field', show: (field) => <FieldName field={field} />, text: ({ path }) => path },
  { title: 'Change', text: ({ change }) => change },
  ...runs.map((run, at): Column<ChangedField> => ({
    title: run,
    show: (field) => <CellOf cell={cellsOf(field, runs)[at]!} />,
    text: (field) => textOf(cellsOf(field, runs)[at]!.value),
  })),
];

const RUNS: readonly Column<ComparedRun>[] = [
  { title: 'Tool', text: ({ tool }) => tool },
  { title: 'Version', text: ({ version }) => version },
  statusColumn('Outcome', ({ success }) => (success ? 'success' : 'error'), {
    why: ({ error }) => error,
    code: ({ code }) => code,
  }),
  amountColumn('Run time', ({ duration }) => duration, milliseconds),
];

/** Which of two sources. */
const SOURCE: Column<ComparedRun> = { title: 'Source', text: ({ run }) => run };

const LEVELS = [
  ['', 'all'],
  ['canonical', 'as compared'],
  ['raw', 'as printed'],
] as const;

const SHOWN = [
  ['', 'all but rounding'],
  ['unknown', 'those not intended'],
  ['all', 'all'],
] as const;

function isShown(field: ChangedField, query: URLSearchParams): boolean {
  const level = query.get('level');
  if (level !== null && field.level !== level) return false;
  const shown = query.get('fields');
  return shown === 'all' || (field.change !== 'rounding' && (shown !== 'unknown' || field.known === undefined));
}

export function Versions({ comparison }: { comparison: StoredComparison }) {
  const { query } = usePlace();
  const { runs, fields, summary } = comparison;
  const tools = [...new Set(runs.map(({ tool }) => tool))];
  const ofTwo = isOfTwoSources(comparison);
  const shown = fields.filter((field) => isShown(field, query));
  return (
    <>
      <p class="lead">
        {tools
          .map((tool) =>
            ofTwo
              ? `${tool} of a and b`
              : `${several(runs.filter((run) => run.tool === tool).length, 'version')} of ${tool}`,
          )
          .join(', ')}
        . {summary.fields === 0 ? 'No field changes' : several(summary.fields, 'changed field')}
        {summary.known > 0 && `, ${summary.known} as intended`}.
      </p>
      {fields.length > 0 && (
        <search class="filters">
          <FilterChoice name="level" label="Values" values={LEVELS} />
          <FilterChoice name="fields" label="Fields" values={SHOWN} />
        </search>
      )}
      {fields.length > 0 && shown.length === 0 && (
        <Empty title="No field is left">
          <p>{several(fields.length, 'field')} that change are hidden by what is chosen above.</p>
        </Empty>
      )}
      {tools.map((tool) => {
        const rows = shown.filter((field) => field.tool === tool);
        return rows.length === 0 ? null : (
          <section key={tool} class="matrix">
            <h2>{tool}</h2>
            <Table
              caption={`Fields of ${tool} that change`}
              columns={columnsOf(runsOf(comparison, tool))}
              rows={rows}
              keyOf={({ level, path, change }) => `${level} ${path} ${change}`}
            />
          </section>
        );
      })}
      {summary.told < summary.fields && (
        <p>{several(summary.fields - summary.told, 'further field')} that change are not listed.</p>
      )}
      <section>
        <h2>Runs</h2>
        <Table
          caption="Runs"
          columns={ofTwo ? [SOURCE, ...RUNS] : RUNS}
          rows={runs}
          keyOf={({ tool, run }) => `${tool} ${run}`}
        />
        {summary.not_compared.map(({ tool, run, why }) => (
          <p key={`${tool} ${run} ${why}`}>
            {tool} {run} is not compared: <Stranger text={why} />
          </p>
        ))}
      </section>
    </>
  );
}
