/** Which items of two batches are of the same source, and whose outcome is another one. */
import { createHash } from 'node:crypto';
import type { BatchItem } from '../../../platform/store/batch_items.ts';

export type PairedItem = Pick<BatchItem, 'n' | 'ref' | 'display' | 'state' | 'requestId' | 'policyOutcome'>;

export interface Pair {
  a: PairedItem;
  b: PairedItem;
}

export interface Paired {
  /** In the order of `b`. */
  pairs: Pair[];
  onlyInA: number;
  onlyInB: number;
  /** Items of both that have neither an address nor a name any more. */
  erased: number;
}

/** Lets others have their turn, if it is time: thousands of items hold the event loop for tens of milliseconds. */
type Turn = () => Promise<void> | undefined;

async function each<T>(items: Iterable<T>, turn: Turn, work: (item: T) => void): Promise<void> {
  for (const item of items) {
    work(item);
    const others = turn();
    if (others) await others;
  }
}

/** Items by a name, each taken once: the last that was put in first. */
class Stacks {
  readonly #items = new Map<string, PairedItem[]>();
  put(name: string, item: PairedItem): void {
    const stack = this.#items.get(name);
    if (stack) stack.push(item);
    else this.#items.set(name, [item]);
  }
  take(name: string): PairedItem | undefined {
    return this.#items.get(name)?.pop();
  }
}

// An address may have 8 kB: a long one is held as its hash, and read again where it is named.
const LONGEST_HELD = 256;
const HASHED = 'sha256 ';
export const heldDisplay = (display: string): string =>
  display.length <= LONGEST_HELD ? display : HASHED + createHash('sha256').update(display).digest('base64');
export const isHashed = ({ display }: PairedItem): boolean => display.startsWith(HASHED);

const isErased = ({ display }: PairedItem): boolean => display === '';

/**
 * By `ref` where both have one, else by the address as it is shown. One that occurs several times is paired in the
 * order of the lists.
 */
export async function pairItems(a: readonly PairedItem[], b: readonly PairedItem[], turn: Turn): Promise<Paired> {
  const [byRef, unnamed, named] = [new Stacks(), new Stacks(), new Stacks()];
  const partners = new Map<PairedItem, PairedItem>();
  const taken = new Set<PairedItem>();
  const pair = (item: PairedItem, partner: PairedItem | undefined): void => {
    if (!partner) return;
    partners.set(item, partner);
    taken.add(partner);
  };
  const backwards = a.toReversed();
  let [leftA, leftB] = [0, 0];
  await each(backwards, turn, (item) => {
    if (isErased(item)) return;
    leftA += 1;
    if (item.ref !== null) byRef.put(item.ref, item);
  });
  await each(b, turn, (item) => {
    if (isErased(item)) return;
    leftB += 1;
    if (item.ref !== null) pair(item, byRef.take(item.ref));
  });
  const erased = a.length - leftA + b.length - leftB;
  await each(backwards, turn, (item) => {
    if (!taken.has(item)) (item.ref === null ? unnamed : named).put(item.display, item);
  });
  const pairs: Pair[] = [];
  await each(b, turn, (item) => {
    if (isErased(item)) return;
    // Two that have names have others.
    if (!partners.has(item))
      pair(item, unnamed.take(item.display) ?? (item.ref === null ? named.take(item.display) : undefined));
    const partner = partners.get(item);
    if (partner) pairs.push({ a: partner, b: item });
  });
  return { pairs, onlyInA: leftA - pairs.length, onlyInB: leftB - pairs.length, erased };
}

// Outcomes that change.

export const JUDGED = {
  state: ({ state }: PairedItem) => (state === 'waiting' || state === 'running' ? null : state),
  /** A failed item has no verdict: that it failed is told of its state. */
  policyOutcome: ({ policyOutcome }: PairedItem) => policyOutcome,
} as const;

export interface Flip<V> {
  from: V;
  to: V;
  count: number;
  /** The first ones. */
  pairs: Pair[];
}

/** Of pairs that both have one. `most`: pairs of each change that are named. */
export function makeFlips<V extends string>(judged: (item: PairedItem) => V | null, most: number) {
  const flips = new Map<string, Flip<V>>();
  return {
    add(pair: Pair): void {
      const [from, to] = [judged(pair.a), judged(pair.b)];
      if (from === null || to === null || from === to) return;
      const key = `${from} ${to}`;
      const flip = flips.get(key) ?? { from, to, count: 0, pairs: [] };
      flips.set(key, flip);
      flip.count += 1;
      if (flip.pairs.length < most) flip.pairs.push(pair);
    },
    /** The commonest first. */
    end: (): Flip<V>[] =>
      [...flips]
        .toSorted(([x, one], [y, other]) => other.count - one.count || (x < y ? -1 : 1))
        .map(([, flip]) => flip),
  };
}

// Whose results can be compared.

/** Why a pair is not compared. */
export const NOT_COMPARED = {
  'not-ended': 'one of the items has not ended',
  'no-result': 'one of the items has no result: it failed or was skipped',
  expired: 'a result is no longer kept',
  unreadable: 'a result cannot be read',
  'too-large': 'an output is too large to be compared on record',
  'no-fields': 'no tool has fields in both results: ffprobe and mediainfo have, as JSON',
} as const;
export type NotCompared = keyof typeof NOT_COMPARED;

const OF_STATE: Readonly<Partial<Record<PairedItem['state'], NotCompared>>> = {
  waiting: 'not-ended',
  running: 'not-ended',
  error: 'no-result',
  skipped: 'no-result',
};

/** Undefined: both have results. */
export const unreadOf = ({ a, b }: Pair): NotCompared | undefined => {
  const found = [OF_STATE[a.state], OF_STATE[b.state]];
  return found.find((why) => why === 'not-ended') ?? found.find((why) => why !== undefined);
};
