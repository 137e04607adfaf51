/** What several runs of a tool say differently: a field in each row, a version or a source in each column. */
import { changesTable, notCompared } from '../../media/answer/comparison.ts';
import { amountColumn, statusColumn, Table, type Column } from '../parts/table.tsx';
import { FilterChoice } from '../parts/filters.tsx';
import { milliseconds, several } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { usePlace } from '../router.ts';
import type { StoredComparison } from '../worker/protocol.ts';
import { AnswerParts } from './section.tsx';

type ComparedRun = StoredComparison['runs'][number];
type ChangedField = StoredComparison['fields'][number];

/** Whether one version was compared on two sources, and not versions on one. */
export const isOfTwoSources = ({ runs }: Pick<StoredComparison, 'runs'>): boolean =>
  runs.some(({ run, version }) => run !== version);

/** Runs that a tool was compared at: those that failed have no column. */
const runsOf = ({ runs }: StoredComparison, tool: string): string[] =>
  runs.filter((run) => run.tool === tool && run.success).map(({ run }) => run);

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
      <AnswerParts parts={tools.map((tool) => changesTable(tool, runsOf(comparison, tool), shown))} />
      <section>
        <h2>Runs</h2>
        <Table
          caption="Runs"
          columns={ofTwo ? [SOURCE, ...RUNS] : RUNS}
          rows={runs}
          keyOf={({ tool, run }) => `${tool} ${run}`}
        />
        <AnswerParts parts={notCompared(comparison)} />
      </section>
    </>
  );
}
