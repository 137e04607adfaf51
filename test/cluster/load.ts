/** Callers that send one request after the other while something else happens, and record the responses. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from './fixture.ts';

export interface Load {
  /** Responses so far. */
  readonly answered: number;
  /**
   * Stops after the response to every caller. Returns a description of each response that was not a 200 with success.
   */
  stop(): Promise<string[]>;
}

/** A slow pace, because the test observes changes and not throughput. */
const PAUSE_MS = 100;
/** The first failures are enough to find the cause. */
const MOST_WORDS = 20;

export function steadyLoad(callers: number, ask: (caller: number, turn: number) => Promise<Answer>): Load {
  const wrong: string[] = [];
  let answered = 0;
  const over = new AbortController();
  const started = performance.now();
  const report = (text: string): void => {
    if (wrong.length < MOST_WORDS)
      wrong.push(`after ${((performance.now() - started) / 1000).toFixed(1)} s: ${text.slice(0, 600)}`);
  };
  const caller = async (number: number): Promise<void> => {
    for (let turn = 0; !over.signal.aborted; turn++) {
      try {
        const { status, json, text } = await ask(number, turn);
        answered++;
        if (status !== 200 || json.success !== true) report(`${status} ${text}`);
      } catch (error) {
        const cause = (error as Error).cause;
        report(`${String(error)}${cause === undefined ? '' : ` (${String(cause)})`}`);
      }
      await delay(PAUSE_MS);
    }
  };
  const all = Array.from({ length: callers }, (_, number) => caller(number));
  return {
    get answered() {
      return answered;
    },
    async stop() {
      over.abort();
      await Promise.all(all);
      return wrong;
    },
  };
}
