/** Large answers are held in memory while they are made and sent: a few at a time, so that many callers of them do not end this process. */
import type { ServerResponse } from 'node:http';

export interface LargeAnswers {
  /** Resolves when there is a place, in order; it is given back when the answer is sent, or its caller gone, or slow for too long. */
  place(response: Pick<ServerResponse, 'once' | 'closed'>): Promise<void>;
}

/** A result of 50 MB takes about 120 MB until it is sent, two tools at their cap some 300 MB; a pod has 512. */
const AT_ONCE = 2;
/** Who reads slowly keeps his answer, but not the others waiting. */
const LONGEST_MS = 30_000;

export function makeLargeAnswers(atOnce = AT_ONCE, longestMs = LONGEST_MS): LargeAnswers {
  const waiting: (() => void)[] = [];
  let free = atOnce;

  const giveBack = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };

  return {
    async place(response) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      let held = true;
      const done = (): void => {
        if (held) giveBack();
        held = false;
        clearTimeout(timer);
      };
      const timer = setTimeout(done, longestMs);
      timer.unref();
      if (response.closed) done();
      else response.once('close', done);
    },
  };
}
