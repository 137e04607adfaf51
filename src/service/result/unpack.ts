/**
 * Opens a stored result: first its place in the memory budget is reserved, then the body is read. And unpacks it: its
 * head, and its outputs if they are short. The collector has checked all of it.
 */
import { LONG, outputsOf } from '../../platform/bus/packing.ts';
import type { ResultBody } from '../../platform/bus/result_body.ts';
import { isStoreError } from '../../platform/store/errors.ts';
import type { Store } from '../../platform/store/store.ts';
import { inflateHead, inflateOutputs, inflateShort, UnreadableResult, type Packed } from './inflate.ts';
import type { MemoryBudget, Place } from './memory_budget.ts';
import { readerOf } from './pieces.ts';

/**
 * Inflated size up to which a result is held as a whole: inflated synchronously in 1 ms, because a turn of the thread
 * pool would take longer.
 */
export const WHOLE = 1024 * 1024;

export interface ResultRef {
  id: string;
  submittedAt: Date;
  /** Null: unknown to its recorder, so it is streamed. */
  inflatedBytes: number | null;
  /** The body, if it came with the notice of the end. */
  inline?: Buffer | undefined;
}

/** Null if there is no body (any more). The caller must release the place. */
export async function openResult(
  { store, memory }: { store: Pick<Store, 'readBody' | 'readBodySlices'>; memory: MemoryBudget },
  { id, submittedAt, inflatedBytes, inline }: ResultRef,
  account: number,
  signal?: AbortSignal,
): Promise<{ packed: Packed; inflatedBytes: number | null; place: Place } | null> {
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

/** What `read` makes of a result, however long it is. Null: it is not kept any more, or cannot be read. */
export async function withResult<T>(
  deps: Parameters<typeof openResult>[0],
  { id, submittedAt }: Pick<ResultRef, 'id' | 'submittedAt'>,
  account: number,
  read: (packed: Packed) => Promise<T>,
): Promise<T | null> {
  const opened = await openResult(deps, { id, submittedAt, inflatedBytes: null }, account);
  if (!opened) return null;
  using _held = opened.place;
  try {
    return await read(opened.packed);
  } catch (error) {
    // `not-ready`: it was deleted before all of it was read.
    if (error instanceof UnreadableResult || isStoreError(error, 'not-ready')) return null;
    throw error;
  }
}

export interface Unpacked {
  result: ResultBody;
  /** The outputs one after the other; null: they stay in the body. */
  outputs: Buffer | null;
}

/** Throws an UnreadableResult if it is none. */
export async function readHead(packed: Packed): Promise<ResultBody> {
  const text = await inflateHead(packed);
  try {
    return JSON.parse(text.toString()) as ResultBody;
  } catch (error) {
    throw new UnreadableResult('its head is not valid JSON', { cause: error });
  }
}

/** The same with its outputs: those of a body in memory, and short ones of any. */
export async function unpackResult(packed: Packed): Promise<Unpacked> {
  const result = await readHead(packed);
  const outputs = outputsOf(result);
  const bytes = outputs.at(-1)?.output.to ?? 0;
  // An answer may have each of them as a string, and a control character takes six bytes in it.
  const escaped = outputs.reduce((sum, { output }) => sum + output.escaped, 0);
  if (Buffer.isBuffer(packed) && (bytes <= LONG || escaped <= WHOLE))
    return { result, outputs: inflateShort(packed, bytes) };
  return { result, outputs: bytes <= LONG ? await gathered(outputReader(packed).read({ from: 0, to: bytes })) : null };
}

/** Texts of outputs by where they begin: of all that are in memory, and of each short one. */
export type Texts = ReadonlyMap<number, string>;

export async function readTexts({ result, outputs }: Unpacked, packed: Packed): Promise<Texts> {
  const texts = new Map<number, string>();
  const reader = outputReader(packed);
  try {
    for (const { output } of outputsOf(result)) {
      const { from, to } = output;
      if (outputs) texts.set(from, outputs.toString('utf8', from, to));
      else if (to - from <= LONG) texts.set(from, (await gathered(reader.read(output))).toString());
    }
  } finally {
    await reader.close();
  }
  return texts;
}

const outputReader = (packed: Packed) => readerOf(() => inflateOutputs(packed));

/** Copied, because slices are views of larger buffers. */
export async function gathered(slices: AsyncIterable<Buffer>): Promise<Buffer> {
  const held: Buffer[] = [];
  for await (const slice of slices) held.push(Buffer.from(slice));
  return Buffer.concat(held);
}
