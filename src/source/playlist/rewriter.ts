import { Worker } from 'node:worker_threads';
import { programFile } from '../../program_file.ts';
import { SourceError } from '../error.ts';
import { sourceClosed } from '../failures.ts';
import { rewrite, type Rewriting, type Rewritten } from './rewrite.ts';
import type { Answer } from './rewrite_thread.ts';

/**
 * Rewrites playlists: short ones synchronously, long ones in a worker thread, because the worst of 8 MB take seconds
 * and would block heartbeats. One thread per agent, started on first use.
 */
export interface Rewriter {
  rewrite(asked: Rewriting): Promise<Rewritten>;
  close(): void;
}

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

const tooComplex = (): SourceError => new SourceError('cut', 'the manifest is too complex', { reason: 'complex' });

interface Waiting {
  asked: Rewriting;
  resolve: (done: Rewritten) => void;
  reject: (error: Error) => void;
}

export function makeRewriter({ deadlineMs = 10_000, mostWaiting = 16 }: RewriterOptions = {}): Rewriter {
  const waiting: Waiting[] = [];
  let running: Waiting | undefined;
  let thread: Worker | undefined;
  let late: NodeJS.Timeout | undefined;
  let closed = false;

  const start = (): Worker => {
    const made = new Worker(programFile('rewrite_thread'), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
      env: {},
    });
    made.unref();
    made.on('message', (answer: Answer) => {
      if (made !== thread) return;
      const asked = take();
      if ('refused' in answer) asked?.reject(new SourceError('cut', answer.refused, { reason: 'limit' }));
      else asked?.resolve(answer);
      next();
    });
    // Out of memory or crashed: the playlist fails, and the next one gets a new thread.
    const gone = (): void => {
      if (made === thread) giveUp();
    };
    made.on('error', gone).on('exit', gone);
    return made;
  };

  const take = (): Waiting | undefined => {
    clearTimeout(late);
    const asked = running;
    running = undefined;
    return asked;
  };

  const giveUp = (): void => {
    const old = thread;
    thread = undefined;
    void old?.terminate();
    take()?.reject(tooComplex());
    next();
  };

  const next = (): void => {
    if (running !== undefined || closed) return;
    running = waiting.shift();
    if (running === undefined) return;
    thread ??= start();
    late = setTimeout(giveUp, deadlineMs);
    thread.postMessage(running.asked, []);
  };

  return {
    rewrite(asked) {
      if (isShort(asked)) return Promise.resolve().then(() => rewrite(asked));
      if (closed || waiting.length >= mostWaiting) return Promise.reject(tooComplex());
      return new Promise((resolve, reject) => {
        waiting.push({ asked, resolve, reject });
        next();
      });
    },
    close() {
      closed = true;
      for (const { reject } of waiting.splice(0)) reject(sourceClosed());
      giveUp();
    },
  };
}
