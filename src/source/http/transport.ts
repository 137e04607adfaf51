import type { OriginAnswer } from './answer.ts';
import { exchange, type Exchange } from './exchange.ts';
import { targetOf, urlOf, type Target } from '../address/target.ts';

/** How one file is asked of its origin. */
export interface Transport {
  /** Where it leads, before any redirect. */
  readonly url: string;
  /** A GET of the file, or of the part that a `range` header names. */
  ask(headers: {
    range?: string;
  }): Promise<{ response: OriginAnswer; /** where the answer came from, after redirects */ url: string }>;
  /** Forgets what a redirect led to; false where there was none. */
  forget(): boolean;
  /** Opens connections ahead of their use. */
  warm(count: number): void;
  /** How many connections there are. */
  ready(): number;
}

export function webTransport(url: string, context: Exchange): Transport {
  let target: Target = targetOf(url);
  return {
    url,
    async ask(headers) {
      const answered = await exchange(context, target, { ...headers });
      target = answered.target;
      return { response: answered.response, url: urlOf(target) };
    },
    forget() {
      if (urlOf(target) === url) return false;
      target = targetOf(url);
      return true;
    },
    warm: (count) => context.pool.warm(target, count),
    ready: () => context.pool.ready(target),
  };
}

/** A transport whose code is loaded with the first question: a warm runner mostly reads web addresses. */
export function loadedTransport(url: string, load: () => Promise<Transport>): Transport {
  let loading: Promise<Transport> | undefined;
  return {
    url,
    ask: async (headers) => (await (loading ??= load())).ask(headers),
    forget: () => false,
    warm() {},
    ready: () => 1,
  };
}
