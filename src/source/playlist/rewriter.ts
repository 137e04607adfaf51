import { programFile } from '../../base/program_file.ts';
import { makeThread, type ThreadError } from '../../base/thread.ts';
import { makeTurns } from '../../base/turns.ts';
import { cut, type SourceError } from '../error.ts';
import { sourceClosed } from '../failures.ts';
import { rewrite, type Rewriting, type Rewritten } from './rewrite.ts';
import type { Answer } from './rewrite_thread.ts';

export type Rewriter = ReturnType<typeof makeRewriter>;

export interface RewriterOptions {
  /** Counted from when the thread starts the playlist. */
  deadlineMs?: number;
  /** Maximum number of playlists that wait for the thread. */
  mostWaiting?: number;
}

/**
 * Measured: the worst text takes 0.3 µs per character, and the base takes as long again per 500 characters. This much
 * takes about 20 ms.
 */
const MOST_HERE = 48 << 10;
const BASE_STEP = 512;
/** 8 MB of text, its rewritten form, and both as bytes. */
const HEAP_MB = 192;

const isShort = ({ bytes, place }: Rewriting): boolean =>
  bytes.byteLength * (1 + place.final.length / BASE_STEP) <= MOST_HERE;

const tooComplex = (): SourceError => cut('complex', 'the manifest is too complex');

/**
 * Rewrites playlists: short ones synchronously, long ones in a worker thread, because the worst of 8 MB take seconds
 * and would block heartbeats. One thread per agent, started on first use.
 */
export function makeRewriter({ deadlineMs = 10_000, mostWaiting = 16 }: RewriterOptions = {}) {
  const thread = makeThread<Rewriting, Answer>(programFile('rewrite_thread'), { deadlineMs, heapMb: HEAP_MB });
  const turns = makeTurns(1);

  async function inThread(asked: Rewriting): Promise<Rewritten> {
    if (turns.waiting() >= mostWaiting) throw tooComplex();
    const answer = await turns.run(() =>
      thread.run(asked).catch((error: ThreadError) => {
        // Out of memory or crashed: the playlist fails, and the next one gets a new thread.
        throw error.code === 'closed' ? sourceClosed() : tooComplex();
      }),
    );
    if ('refused' in answer) throw cut('limit', answer.refused);
    return answer;
  }

  return {
    rewrite: async (asked: Rewriting): Promise<Rewritten> => (isShort(asked) ? rewrite(asked) : inThread(asked)),
    close: (): void => thread.close(),
  };
}
