/** How a batch stands, in one line: whether it is fine, how far it is, and what it waits for. */
import type { BatchRow } from '../../api_types.ts';
import { count, joined } from '../parts/figures.ts';

type Kind = 'good' | 'warn' | 'bad' | 'none';
type Stood = Pick<BatchRow, 'state' | 'reason' | 'counts' | 'items'>;

const SIGNS: Record<Kind, string> = { good: '✓', warn: '⚠', bad: '✕', none: '–' };

/** Those that failed, and those of which only some tools did. */
const ofItems = ({ counts }: Stood): Kind => (counts.error > 0 ? 'bad' : counts['with-errors'] > 0 ? 'warn' : 'good');

const ENDS: Record<string, (batch: Stood) => [Kind, string]> = {
  Completed: (batch) => [ofItems(batch), batch.counts.error > 0 ? 'Completed with failures' : 'Completed'],
  Cancelled: () => ['none', 'Cancelled'],
  DeadlineExceeded: () => ['bad', 'Ended at its deadline'],
};

const STATES: Record<BatchRow['state'], (batch: Stood) => [Kind, string]> = {
  running: (batch) => [ofItems(batch), 'Running'],
  paused: () => ['none', 'Paused'],
  stopped: () => ['bad', 'Stopped'],
  cancelling: () => ['none', 'Being cancelled'],
  ended: (batch) => ENDS[batch.reason ?? '']?.(batch) ?? ['none', 'Ended'],
};

export function standingOf(batch: Stood): { kind: Kind; word: string } {
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
