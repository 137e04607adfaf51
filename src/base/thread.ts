/**
 * A worker thread that does one piece of work at a time, with a deadline and a bound on its memory. It is started by
 * the first piece of work, and again after one that took too long, ran out of memory or crashed.
 */
import { parentPort, Worker } from 'node:worker_threads';

/** Why a piece of work was not done. */
export class ThreadError extends Error {
  readonly code: 'late' | 'out-of-memory' | 'crashed' | 'closed';

  constructor(code: ThreadError['code'], cause?: unknown) {
    super(`the thread ended: ${code}`, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export interface Thread<In, Out> {
  /** Not before the one before it is done. Rejects with a ThreadError. */
  run(work: In): Promise<Out>;
  close(): void;
}

export interface ThreadOptions {
  /** Of one piece of work. Loading the modules of a new thread does not count. */
  deadlineMs: number;
  heapMb: number;
}

/** For loading the modules, on a machine that is busy. */
const START_MS = 30_000;

type Message<Out> = { isReady: true } | { done: Out };

export function makeThread<In, Out>(file: string, { deadlineMs, heapMb }: ThreadOptions): Thread<In, Out> {
  let worker: Worker | undefined;
  let isReady = false;
  let isClosed = false;
  let late: NodeJS.Timeout | undefined;
  let running: { resolve: (done: Out) => void; reject: (error: ThreadError) => void } | undefined;

  const take = (): typeof running => {
    clearTimeout(late);
    const taken = running;
    running = undefined;
    return taken;
  };

  const lose = (error: ThreadError): void => {
    const old = worker;
    worker = undefined;
    void old?.terminate();
    take()?.reject(error);
  };

  const watch = (): void => {
    clearTimeout(late);
    late = setTimeout(() => lose(new ThreadError('late')), isReady ? deadlineMs : START_MS);
  };

  const start = (): Worker => {
    const made = new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: heapMb }, env: {} });
    isReady = false;
    made.unref();
    made.on('message', (message: Message<Out>) => {
      if (made !== worker) return;
      if ('done' in message) return take()?.resolve(message.done);
      isReady = true;
      if (running) watch();
    });
    made.on('error', (error: Error & { code?: string }) => {
      const isFull = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      if (made === worker) lose(new ThreadError(isFull ? 'out-of-memory' : 'crashed', error));
    });
    made.on('exit', () => {
      if (made === worker) lose(new ThreadError('crashed'));
    });
    return made;
  };

  return {
    run: (work) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new ThreadError('closed'));
        worker ??= start();
        running = { resolve, reject };
        watch();
        worker.postMessage(work, []);
      }),
    close() {
      isClosed = true;
      lose(new ThreadError('closed'));
    },
  };
}

/** The entry point of a thread: answers each piece of work. What `work` throws ends the thread. */
export function serveThread<In, Out>(work: (given: In) => Out): void {
  parentPort?.on('message', (given: In) => parentPort?.postMessage({ done: work(given) } satisfies Message<Out>, []));
  parentPort?.postMessage({ isReady: true } satisfies Message<Out>, []);
}
