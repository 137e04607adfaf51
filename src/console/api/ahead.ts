/**
 * Pages of lists that are asked for before they are needed, and pages that were shown before. What was asked for ahead
 * is no older than a slow answer would be; what was shown before is marked as old until it has been read again.
 */
import { call, changesMade, type Given } from './client.ts';
import type { Answer, CallName } from '../../api_calls.ts';
import { useAsked, type Asked } from './use_call.ts';

const FRESH_MS = 5_000;
const MOST_ANSWERS = 20;

interface Ahead {
  at: number;
  /** An answer from before a change is not used. */
  changes: number;
  answer: Promise<unknown>;
}
const ahead = new Map<string, Ahead>();
const shown = new Map<string, unknown>();

/** The oldest ones make room. */
function put<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MOST_ANSWERS) return;
    map.delete(oldest);
  }
}

type Listed<N extends CallName> = Pick<Given<N>, 'query'>;
const keyOf = <N extends CallName>(name: N, given: Listed<N>): string => JSON.stringify([name, given]);
const isFresh = ({ at, changes }: Ahead): boolean => performance.now() - at < FRESH_MS && changes === changesMade();

export function askAhead<N extends CallName>(name: N, given: Listed<N>): void {
  const key = keyOf(name, given);
  const there = ahead.get(key);
  if (there && isFresh(there)) return;
  const answer = call(name, given);
  put(ahead, key, { at: performance.now(), changes: changesMade(), answer });
  // The page asks again, and says what was wrong.
  answer.catch(() => ahead.delete(key));
}

async function read<N extends CallName>(name: N, given: Listed<N>, signal: AbortSignal): Promise<Answer<N>> {
  const key = keyOf(name, given);
  const there = ahead.get(key);
  ahead.delete(key);
  const answer =
    there && isFresh(there) ? await (there.answer as Promise<Answer<N>>) : await call(name, { ...given, signal });
  put(shown, key, answer);
  return answer;
}

export const useList = <N extends CallName>(name: N, given: Listed<N>): Asked<Answer<N>> => {
  const key = keyOf(name, given);
  return useAsked(key, (signal) => read(name, given, signal), shown.get(key) as Answer<N> | undefined);
};
