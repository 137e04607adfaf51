/** The verdict of a policy: what each rule asks for, and what was found. Failed rules come first. */
import { waivedWords } from '../../base/waived.ts';
import { answered } from '../api/client.ts';
import type { PolicyResult } from '../../api_types.ts';
import { codeColumn, statusColumn, strangerColumn, Table, type Column } from '../parts/table.tsx';
import { download } from '../parts/copy.tsx';
import { joined, several } from '../parts/figures.ts';
import { WorkButton } from '../parts/form.tsx';
import { Status, Stranger } from '../parts/values.tsx';
import { withAnyToken } from '../parts/with_token.tsx';

type Rule = PolicyResult['rules'][number];
type Outcome = Rule['outcome'];

/** The worst first. */
const TALLY: Record<Outcome, string> = {
  fail: 'failed',
  unknown: 'could not be judged',
  warn: 'warned',
  waived: 'waived',
  pass: 'passed',
  'not-applicable': 'did not apply',
};
const ORDER = Object.keys(TALLY) as Outcome[];

/** Those of each outcome that there is, the worst first. */
export function byOutcome<T>(all: readonly T[], outcomeOf: (one: T) => Outcome): [Outcome, T[]][] {
  const groups = ORDER.map((outcome): [Outcome, T[]] => [outcome, all.filter((one) => outcomeOf(one) === outcome)]);
  return groups.filter(([, some]) => some.length > 0);
}

function Found({ rule: { actual, from, confidence, also = [], more } }: { rule: Rule }) {
  const origin = joined(', ', [from, confidence !== undefined && `${Math.round(confidence * 100)} % sure`]);
  return (
    <>
      {actual !== undefined && <Stranger text={actual} most={120} />}
      {origin !== '' && <span class="unit"> {origin}</span>}
      {also.length > 0 && (
        <ul class="also">
          {also.map(({ stream, actual: other }) => (
            <li key={stream}>
              <span class="unit">{stream}</span> {other !== undefined && <Stranger text={other} most={80} />}
            </li>
          ))}
          {more !== undefined && <li class="unit">{several(more, 'further stream')}</li>}
        </ul>
      )}
    </>
  );
}

const COLUMNS: readonly Column<Rule>[] = [
  statusColumn('Outcome', ({ outcome }) => outcome),
  strangerColumn('Rule', ({ name }) => name, { most: 100, mark: ({ level }) => level === 'warn' && 'warns' }),
  codeColumn('Where', ({ field, stream }) => joined(' in ', [field, stream])),
  { title: 'Found', show: (rule) => <Found rule={rule} />, text: ({ actual = '' }) => actual },
  strangerColumn('Wanted', ({ expected }) => expected, { most: 120, none: null }),
  strangerColumn('In words', ({ message, waived }) => (waived ? `${message}; ${waivedWords(waived)}` : message)),
];

const FORMATS = [
  ['junit', 'JUnit', 'xml'],
  ['sarif', 'SARIF', 'sarif'],
] as const;

/** As CI systems read it. Only a token of the user who made the request gets it. */
const Downloads = ({ id }: { id: string }) => (
  <p class="actions">
    {FORMATS.map(([format, name, extension]) => (
      <WorkButton
        key={format}
        work={async () => {
          const given = { params: { id }, query: { format } };
          const response = await withAnyToken((bearer) => answered('GET /v1/probe/:id/policy', { ...given, bearer }));
          download(`${id}.${extension}`, await response.blob());
        }}
      >
        {`Download as ${name}`}
      </WorkButton>
    ))}
  </p>
);

export function Policy({ verdict, id }: { verdict: PolicyResult; id: string }) {
  const { name, revision, outcome, rules } = verdict;
  const groups = byOutcome(rules, (rule) => rule.outcome);
  return (
    <>
      <p class="lead">
        <Status of={outcome} />: {name === null ? 'the policy of the request' : <Stranger text={name} />}
        {revision !== null && <span class="unit"> revision {revision}</span>}.{' '}
        {groups.map(([one, some]) => `${several(some.length, 'rule')} ${TALLY[one]}`).join(', ')}.
      </p>
      <Downloads id={id} />
      <Table
        caption="Rules"
        columns={COLUMNS}
        rows={groups.flatMap(([, some]) => some)}
        keyOf={({ name: rule }) => rule}
      />
    </>
  );
}
