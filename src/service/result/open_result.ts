/** Opens the result of an ended request: first reserves its place in the memory budget, then reads the body. */
import type { Store } from '../../platform/store/store.ts';
import type { Packed } from './inflate.ts';
import type { MemoryBudget, Place } from './memory_budget.ts';
import { WHOLE } from './unpack.ts';

export interface StoredResult {
  id: string;
  submittedAt: Date;
  /** Null: unknown to its recorder, so it is streamed. */
  inflatedBytes: number | null;
  /** The body, if it came with the notice of the end. */
  inline?: Buffer | undefined;
}

export interface OpenResult {
  packed: Packed;
  /** Null: unknown. */
  inflatedBytes: number | null;
  place: Place;
}

export interface OpenDeps {
  store: Pick<Store, 'readBody' | 'readBodySlices'>;
  memory: MemoryBudget;
}

/** Null if there is no body (any more). The caller must release the place. */
export async function openResult(
  { store, memory }: OpenDeps,
  { id, submittedAt, inflatedBytes, inline }: StoredResult,
  account: number,
  signal?: AbortSignal,
): Promise<OpenResult | null> {
  const place = await memory.reserve({ inflatedBytes, account, signal });
  try {
    const isWhole = inflatedBytes !== null && inflatedBytes <= WHOLE;
    const packed = isWhole
      ? (inline ?? (await store.readBody(id, submittedAt)))
      : () => (inline ? [inline] : store.readBodySlices(id, submittedAt));
    if (packed) return { packed, inflatedBytes, place };
    place.release();
    return null;
  } catch (error) {
    place.release();
    throw error;
  }
}
