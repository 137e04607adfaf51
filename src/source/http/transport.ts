/** How parts of a file are asked for, whatever the protocol. */
import type { OriginAnswer } from './answer.ts';
import { exchange, type Exchange } from './exchange.ts';
import { targetOf, urlOf, type Target } from '../address/target.ts';

/** A part of a file, `from` inclusive and `to` exclusive; `Infinity`: to the end of the file. */
export interface Part {
  from: number;
  to: number;
}

interface Answered {
  response: OriginAnswer;
  /** where the answer came from, after redirects */ url: string;
}

/** Requests one file from its origin. */
export interface Transport {
  /** The address before any redirect. */
  readonly url: string;
  /**
   * Requests a part of the file, or all of it. `count`: for whom, where one connection serves several tools. What the
   * socket reads is counted here, and by no reader of the body.
   */
  ask(part?: Part, count?: Exchange['count']): Promise<Answered>;
  /** Requests as many bytes of the end of the file, whatever its size. */
  askEnd?(length: number, count: Exchange['count']): Promise<Answered>;
  /** Forgets the target of a redirect; false if there was none. */
  forget(): boolean;
  /** Opens connections in advance. */
  warm(count: number): void;
  /** Number of open connections. */
  ready(): number;
  /** Known with the first connection. */
  isFar(): Promise<boolean>;
  /** The fastest connection to the host, as far as known. */
  roundTripMs(): number;
}

export function webTransport(url: string, context: Exchange): Transport {
  let target: Target = targetOf(url);
  const request = async (range: string | undefined, count: Exchange['count']): Promise<Answered> => {
    const answered = await exchange({ ...context, count }, target, range === undefined ? {} : { range });
    target = answered.target;
    return { response: answered.response, url: urlOf(target) };
  };
  return {
    url,
    ask: (part, count = context.count) => request(part && rangeHeader(part), count),
    askEnd: (length, count) => request(`bytes=-${length}`, count),
    forget() {
      if (urlOf(target) === url) return false;
      target = targetOf(url);
      return true;
    },
    warm: (count) => context.pool.warm(target, count),
    ready: () => context.pool.ready(target),
    isFar: () => context.pool.isFar(target),
    roundTripMs: () => context.pool.roundTripMs(target),
  };
}

const rangeHeader = ({ from, to }: Part): string => `bytes=${from}-${to === Infinity ? '' : to - 1}`;

/** A transport with its own connections: nothing to forget, and nothing to open in advance. */
export const ownTransport = (url: string, ask: Transport['ask']): Transport => ({
  url,
  ask,
  forget: () => false,
  warm() {},
  ready: () => 1,
  isFar: () => Promise.resolve(false),
  roundTripMs: () => Infinity,
});

/** A transport that is made by the first request. */
export function loadedTransport(url: string, load: () => Promise<Transport>): Transport {
  let loading: Promise<Transport> | undefined;
  return ownTransport(url, async (part, count) => (await (loading ??= load())).ask(part, count));
}
