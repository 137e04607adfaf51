/** The audit log: who changed what, who saw a secret, and who was denied. */
import { valueWords } from '../../media/answer/section.ts';
import { queryPairs, targetOf } from '../../api_calls.ts';
import type { AuditChange, AuditEntry } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import { choices, FilterChoice, FilterText, oneOf, RangeFilter, rangeIn } from '../parts/filters.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { statusColumn, strangerColumn, Table, timeColumn, useListing, type Column } from '../parts/table.tsx';
import { Stranger } from '../parts/values.tsx';
import { usePlace } from '../router.ts';

const OUTCOMES = ['done', 'denied'] as const;

const changeText = ({ field, before, after, redacted }: AuditChange): string =>
  `${field}: ${redacted ?? `${valueWords(before, 'none')} → ${valueWords(after, 'none')}`}`;

const COLUMNS: readonly Column<AuditEntry>[] = [
  timeColumn('Time', ({ time }) => time, { sort: 'time' }),
  strangerColumn(
    'Who',
    ({ email, 'user-id': id }) => email ?? (id === undefined ? 'a command in a pod' : `user ${id}`),
    { most: 60 },
  ),
  { title: 'Action', text: ({ action }) => action },
  strangerColumn('On', ({ subject }) => subject, { most: 80 }),
  statusColumn('Outcome', ({ outcome }) => outcome, { why: ({ code }) => code }),
  {
    title: 'Changes',
    show: ({ changes }) => (
      <ul class="also">
        {changes.map((change) => (
          <li key={changeText(change)}>
            <Stranger text={changeText(change)} most={160} />
          </li>
        ))}
      </ul>
    ),
    text: ({ changes }) => changes.map(changeText).join('; '),
    wide: true,
  },
  { title: 'From', text: ({ address }) => address },
];

const oneText = (value: string | null): string[] => (value === null || value === '' ? [] : [value]);

export function Audit() {
  const { query } = usePlace();
  const listing = useListing(['time'], 'time', 'desc');
  const user = query.get('user') ?? '';
  const filter = {
    time: rangeIn(query, 'month'),
    'user-id': /^\d{1,15}$/.test(user) ? [Number(user)] : [],
    action: oneText(query.get('action')),
    subject: oneText(query.get('subject')),
    outcome: oneOf(query.get('outcome'), OUTCOMES),
  };
  const asked = useCall('GET audit', { query: { ...listing, ...filter } });
  const lines = `${targetOf('GET audit/export').path}?${new URLSearchParams(queryPairs(filter)).toString()}`;
  return (
    <>
      <search class="filters">
        <RangeFilter byDefault="month" />
        <FilterChoice name="outcome" label="Outcome" values={choices(OUTCOMES)} />
        <FilterText name="user" label="User" placeholder="id of a user" />
        <FilterText name="action" label="Action" placeholder="setUserStatus" />
        <FilterText name="subject" label="On" placeholder="user/7" />
      </search>
      <p class="actions">
        <a href={lines} download="audit.ndjson">
          Download as lines of JSON
        </a>
      </p>
      <Await asked={asked} what="the audit log">
        {({ entries, ...echo }) => (
          <Table caption="Audit log" columns={COLUMNS} rows={entries} keyOf={({ id }) => id} echo={echo}>
            <Empty title="No entries in this time">
              <p>Each change, each sight of a secret and each call that was denied is listed here.</p>
            </Empty>
          </Table>
        )}
      </Await>
    </>
  );
}
