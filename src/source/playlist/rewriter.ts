import { Worker } from 'node:worker_threads';
import { SourceError } from '../error.ts';
import { sourceClosed } from '../failures.ts';
import { rewrite, type Rewriting, type Rewritten } from './rewrite.ts';
import type { Answer } from './rewrite_thread.ts';

/**
 * Rewrites playlists: short ones where they are, long ones in a thread of its own, because the worst of 8 MB takes
 * seconds and heartbeats have to go on meanwhile. One thread for the agent, started when it is first needed.
 */
export interface Rewriter {
  rewrite(asked: Rewriting): Promise<Rewritten>;
  close(): void;
}

export interface RewriterOptions {
  /** From when the thread begins with a playlist. */
  deadlineMs?: number;
  /** Playlists that wait for the thread. */
  mostWaiting?: number;
}

/**
 * Measured: the worst text takes 0.3 µs for each character, and reading a base takes as long again for each 500
 * characters that it has. This much takes some 20 ms.
 */
const MOST_HERE = 48 << 10;
const BASE_STEP = 512;
/** 8 MB of text, what is made of it, and both as bytes. */
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
    const made = new Worker(new URL('./rewrite_thread.ts', import.meta.url), {
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
    // Out of memory or broken: the playlist is the reason, and the next one gets another thread.
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
