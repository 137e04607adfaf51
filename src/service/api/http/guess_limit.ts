/**
 * Limits what an address may do before its caller is authenticated: look-ups of unknown API tokens without a checksum,
 * each of which costs a query of Postgres, and calls that need no credential (rate.ts). The limit is in process: one in
 * Postgres would cost the query that it should save. Each replica has its own.
 */
import { siteOf } from '../../accounts/networks.ts';
import { ApiError } from '../errors.ts';

/** After a restart every valid token is looked up once, possibly all of them through one proxy. */
const GUESSES = { burst: 200, everyMs: 200 } as const;

/** About 1 MB. Further addresses share one limit. */
const MOST_SITES = 10_000;
const SWEEP_MS = 1_000;
const ALL_OTHERS = 'others';

export interface GuessLimit {
  /**
   * Counts a look-up from this address, or throws 429. The returned function takes the count back, for a known token.
   */
  take(address: string): () => void;
  size(): number;
}

interface Guesses {
  burst: number;
  everyMs: number;
}

const clock = (): number => performance.now();

export function makeGuessLimit(now = clock, { burst, everyMs }: Guesses = GUESSES): GuessLimit {
  /** When the limit of an address has fully recovered. */
  const wholeAt = new Map<string, number>();
  let sweptAt = -Infinity;

  function keyOf(address: string): string {
    const site = siteOf(address);
    if (wholeAt.has(site) || wholeAt.size < MOST_SITES) return site;
    if (now() - sweptAt >= SWEEP_MS) {
      sweptAt = now();
      for (const [one, at] of wholeAt) if (at <= sweptAt) wholeAt.delete(one);
    }
    return wholeAt.size < MOST_SITES ? site : ALL_OTHERS;
  }

  return {
    take(address) {
      const key = keyOf(address);
      const next = Math.max(wholeAt.get(key) ?? 0, now()) + everyMs;
      const waitMs = next - now() - burst * everyMs;
      if (waitMs > 0) throw new ApiError('too-many-attempts', { retryAfterS: waitMs / 1000 });
      wholeAt.set(key, next);
      return () => {
        const left = (wholeAt.get(key) ?? 0) - everyMs;
        if (left > now()) wholeAt.set(key, left);
        else wholeAt.delete(key);
      };
    },
    size: () => wholeAt.size,
  };
}
