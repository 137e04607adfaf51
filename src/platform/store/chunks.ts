/**
 * Chunks: several items of a batch, whose requests have one ProbeJob and are submitted at one time (openItems). Each
 * request is closed as any other. Those that its chunk does not come to are taken back.
 */
import { column, type RecordOf } from './columns.ts';
import type { Database } from './connection.ts';
import { calling } from './named.ts';
import { integer } from './storable.ts';

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
