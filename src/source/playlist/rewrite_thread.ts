import { parentPort } from 'node:worker_threads';
import { isSourceError } from '../error.ts';
import { rewrite, type Rewriting, type Rewritten } from './rewrite.ts';

/** Entry point of the worker thread: one playlist at a time, each answered once. */
export type Answer = Rewritten | { refused: string };

parentPort?.on('message', (asked: Rewriting) => {
  let answer: Answer;
  try {
    answer = rewrite(asked);
  } catch (error) {
    if (!isSourceError(error)) throw error;
    answer = { refused: error.message };
  }
  parentPort?.postMessage(answer, []);
});
