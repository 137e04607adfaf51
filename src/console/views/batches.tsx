/** Batches: many addresses, probed by one template. */
import type { ComponentType } from 'preact';
import { SIGNS, type Tone } from '../../base/signs.ts';
import { call } from '../api/client.ts';
import { asToken, type HeldToken } from '../api/gateway.ts';
import { useRepeated } from '../api/use_call.ts';
import type { BatchRow } from '../../api_types.ts';
import { count, joined } from '../parts/figures.ts';
import { Await, Empty } from '../parts/states.tsx';
import { countColumn, strangerColumn, Table, timeColumn, type Column } from '../parts/table.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { changed, hrefOf, placeNow, usePlace } from '../router.ts';
import { may, useUser } from '../session.ts';

// How a batch stands, in one line: whether it is fine, how far it is, and what it waits for.

type Stood = Pick<BatchRow, 'state' | 'reason' | 'counts' | 'items'>;

/** Those that failed, and those of which only some tools did. */
const ofItems = ({ counts }: Stood): Tone => (counts.error > 0 ? 'bad' : counts['with-errors'] > 0 ? 'warn' : 'good');

const ENDS: Record<string, (batch: Stood) => [Tone, string]> = {
  Completed: (batch) => [ofItems(batch), batch.counts.error > 0 ? 'Completed with failures' : 'Completed'],
  Cancelled: () => ['none', 'Cancelled'],
  DeadlineExceeded: () => ['bad', 'Ended at its deadline'],
};

const STATES: Record<BatchRow['state'], (batch: Stood) => [Tone, string]> = {
  running: (batch) => [ofItems(batch), 'Running'],
  paused: () => ['none', 'Paused'],
  stopped: () => ['bad', 'Stopped'],
  cancelling: () => ['none', 'Being cancelled'],
  ended: (batch) => ENDS[batch.reason ?? '']?.(batch) ?? ['none', 'Ended'],
};

export function standingOf(batch: Stood): { kind: Tone; word: string } {
  const [kind, word] = STATES[batch.state](batch);
  return { kind, word };
}

/** Of those that are over, whatever came of them. */
export const overOf = ({ counts, items }: Stood): number => items - counts.waiting - counts.running;

export const progressOf = (batch: Stood): string =>
  `${joined(', ', [
    `${count(overOf(batch))} of ${count(batch.items)} items are over`,
    batch.counts.error > 0 && `${count(batch.counts.error)} failed`,
    batch.counts['with-errors'] > 0 && `${count(batch.counts['with-errors'])} with errors`,
    batch.counts.skipped > 0 && `${count(batch.counts.skipped)} skipped`,
  ])}.`;

export function Standing({ of, badge = false }: { of: Stood; badge?: boolean }) {
  const { kind, word } = standingOf(of);
  return (
    <span class={`${badge ? 'badge' : 'status'} ${kind}`}>
      <span aria-hidden="true">{SIGNS[kind]}</span> {word}
    </span>
  );
}

/** Calls count against the rate of the token. */
export const LOOK_MS = 5_000;

/** The token that this page uses, for another one of batches. */
export const tokenChosen = (): URLSearchParams =>
  changed(new URLSearchParams(), { token: placeNow().query.get('token') });

export const COLUMNS: readonly Column<BatchRow>[] = [
  timeColumn('Created', ({ created_at: at }) => at, { to: ({ id }) => hrefOf(`/batches/${id}`, tokenChosen()) }),
  strangerColumn('Name', ({ name }) => name ?? '', { most: 80, none: 'without a name', wide: true }),
  {
    title: 'State',
    show: (batch) => (
      <>
        <Standing of={batch} />
        {batch.text !== null && <div class="unit">{batch.text}</div>}
      </>
    ),
    text: (batch) => standingOf(batch).word,
  },
  {
    title: 'Progress',
    show: (batch) => (
      <span class="measured">
        <progress value={overOf(batch)} max={batch.items} aria-label={`Progress of ${batch.name ?? batch.id}`} />
        {count(overOf(batch))} of {count(batch.items)}
      </span>
    ),
    text: (batch) => `${overOf(batch)} of ${batch.items}`,
  },
  countColumn('Failed', ({ counts }) => counts.error),
  countColumn('With errors', ({ counts }) => counts['with-errors']),
  { title: 'Id', text: ({ id }) => id, hidden: true },
];

function Listed({ token: { text: bearer } }: { token: HeldToken }) {
  const before = usePlace().query.get('page');
  const { asked } = useRepeated({
    key: `batches ${bearer} ${before}`,
    ask: (signal) => asToken(call('GET /v1/batch', { query: { before }, bearer, signal })),
    everyMs: LOOK_MS,
    isLast: ({ batches }) => batches.every(({ state }) => state === 'ended'),
  });
  return (
    <Await asked={asked} what="the batches">
      {({ batches, next }) => (
        <Table caption="Batches" columns={COLUMNS} rows={batches} keyOf={({ id }) => id} next={next}>
          <Empty title="There are no batches">
            <p>
              A batch probes a list of addresses by one template. Create one here, or with the options of the{' '}
              <a href={hrefOf('/playground')}>playground</a>.
            </p>
          </Empty>
        </Table>
      )}
    </Await>
  );
}

/** Nothing is read before the page asks. */
export const atOnce = () => Promise.resolve(null);

interface MakingProps {
  path: string;
  title: string;
  list: ComponentType<{ token: HeldToken }>;
}

/** A list of what can be made here, too. */
export const Making = ({ path, title, list: List }: MakingProps) => (
  <>
    {may(useUser(), 'write:media') && (
      <p class="actions">
        <a class="button" href={hrefOf(path, tokenChosen())}>
          {title}
        </a>
      </p>
    )}
    <WithToken what="a token" read={atOnce}>
      {(_, token) => <List token={token} />}
    </WithToken>
  </>
);

export const Batches = () => <Making path="/batches/new" title="New batch" list={Listed} />;
