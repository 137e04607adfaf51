/**
 * Chunks: several items of a batch, whose requests have one ProbeJob and are submitted at one time. Each request is
 * closed as any other. Those that its chunk does not come to are taken back.
 */
import type { OpenedItem } from './batch_items.ts';
import { column, type RecordOf } from './columns.ts';
import type { Database } from './connection.ts';
import { calling } from './named.ts';
import type { OpenInput } from './records.ts';
import { openingValues } from './requests.ts';
import { integer, jsonb } from './storable.ts';
import { timeOf } from './uuid.ts';

export interface ItemToOpen {
  n: number;
  /** From 1. */
  attempt: number;
  open: OpenInput;
}

export interface ItemsOpening {
  /** Of the driver (takeDriver). */
  epoch: number;
  batch: string;
  items: readonly [ItemToOpen, ...ItemToOpen[]];
}

/** All items run and their requests are open, or none. The requests differ in id, address and waiter alone. */
export function openItems(
  database: Database,
  { epoch, batch, items }: ItemsOpening,
): Promise<Exclude<OpenedItem['outcome'], 'repeated' | 'idempotency-conflict' | 'rate-limited'>> {
  const { submitted_at, token_id, user_id, kind, request, tools, queue_timeout_ms, timeout_ms, quotas, root_id } =
    openingValues(items[0].open);
  const same = { submitted_at, token_id, user_id, kind, request, tools, queue_timeout_ms, timeout_ms };
  const rows = items.map(({ n, attempt, open: { id, display, scheme, waiter } }) => ({
    n,
    attempt,
    id,
    display,
    scheme,
    waiter,
  }));
  const values = { epoch, batch, created_at: timeOf(batch), items: jsonb(rows), ...same, quotas, root_id };
  return database.value(calling('open_items', values));
}

export interface OfChunk {
  ids: readonly string[];
  submittedAt: Date;
}

/**
 * Those of these requests that are open leave no trace, and their items wait, after this time, with a try less. Twice
 * is the same as once. Returns how many there were.
 */
export function returnItems(
  database: Database,
  { ids, submittedAt, afterMs = 0 }: OfChunk & { afterMs?: number },
): Promise<number> {
  return database.value(calling('return_items', { ids, submitted_at: submittedAt, after_ms: integer(afterMs) }));
}

const OPEN = { id: column<string>(), isWanted: column<boolean>() };

/** The first of these requests that is open. `isWanted`: its batch runs, or stopped because it fills a quota. */
export function openOfChunk(database: Database, { ids, submittedAt }: OfChunk): Promise<RecordOf<typeof OPEN> | null> {
  return database.first(calling('open_of_chunk', { ids, submitted_at: submittedAt }, OPEN));
}
