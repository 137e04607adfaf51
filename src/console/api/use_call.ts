/** A call that a page shows the answer of: made when what is asked for changes, and again when asked to. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { session } from '../session.ts';
import { call, type Given, isFailure } from './client.ts';
import type { Answer, CallName } from '../../api_calls.ts';
import type { Failure } from './failure.ts';

export interface Asked<T> {
  /** The last answer: stays while the next one is waited for. */
  data: T | undefined;
  failure: Failure | undefined;
  /** When the call that is under way was made; null: none is. */
  since: number | null;
  stopped: boolean;
  again(): void;
  stop(): void;
}

/**
 * `key`: of what is asked for; it is asked again when that changes, after a sign-in, and when `again` is called.
 * `former`: an answer to the same from before, to be shown as old.
 */
export function useAsked<T>(key: string, ask: (signal: AbortSignal) => Promise<T>, former?: T): Asked<T> {
  const [data, setData] = useState<T | undefined>(former);
  const [failure, setFailure] = useState<Failure>();
  const [since, setSince] = useState<number | null>(() => performance.now());
  const [stopped, setStopped] = useState(false);
  const [round, setRound] = useState(0);
  const abort = useRef<AbortController>(null);
  const { signIns } = useCell(session);

  // An effect would wait for the next frame.
  useLayoutEffect(() => {
    const controller = new AbortController();
    abort.current = controller;
    setSince(performance.now());
    setStopped(false);
    if (former !== undefined) setData(() => former);
    ask(controller.signal).then(
      (answer) => {
        if (controller.signal.aborted) return;
        setData(() => answer);
        setFailure(undefined);
        setSince(null);
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setSince(null);
        if (!isFailure(error)) throw error;
        setFailure(error);
      },
    );
    return () => controller.abort();
  }, [key, round, signIns]);

  return {
    data,
    failure,
    since,
    stopped,
    again: () => setRound((before) => before + 1),
    stop() {
      abort.current?.abort();
      setSince(null);
      setStopped(true);
    },
  };
}

export const useCall = <N extends CallName>(name: N, given: Omit<Given<N>, 'signal'> = {}): Asked<Answer<N>> =>
  useAsked(JSON.stringify([name, given]), (signal) => call(name, { ...given, signal }));

/** Work that a button starts. `busy`: what is under way. `failure`: why the last one came to nothing. */
export function useWork() {
  const [busy, setBusy] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  async function start(what: string, work: () => Promise<void>): Promise<void> {
    setBusy(what);
    setFailure(null);
    try {
      await work();
    } catch (error) {
      if (!isFailure(error)) throw error;
      setFailure(error);
    } finally {
      setBusy(null);
    }
  }
  return { busy, failure, start };
}

// A call that is repeated while the page is visible: the last answer stays in view until the next one.

const EVERY_MS = 2_000;
/** Of others another try comes to the same. */
const mayPass = ({ kind }: Failure): boolean => kind !== 'refused' && kind !== 'signed-out';

interface Repeated<T> {
  key: string;
  ask: (signal: AbortSignal) => Promise<T>;
  everyMs?: number;
  /** What is answered then will not change. */
  isLast?: (answer: T) => boolean;
  /** Failures after which it is asked again by itself. */
  goesOn?: (failure: Failure) => boolean;
}

export function useRepeated<T>(given: Repeated<T>) {
  const { key, ask, everyMs = EVERY_MS, isLast = () => false, goesOn = mayPass } = given;
  const [paused, setPaused] = useState(false);
  const { data, ...asked } = useAsked(key, async (signal) => ({
    key,
    answer: await ask(signal),
    at: performance.now(),
  }));
  const { failure, since, stopped, again } = asked;
  const isEnded = data !== undefined && data.key === key && isLast(data.answer);
  const isOver = paused || stopped || isEnded || (failure !== undefined && !goesOn(failure));
  useEffect(() => {
    if (isOver || since !== null) return;
    const next = (): void => {
      if (!document.hidden) again();
    };
    const timer = setTimeout(next, failure?.retryAfter ? 1_000 * failure.retryAfter : everyMs);
    document.addEventListener('visibilitychange', next);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', next);
    };
  }, [isOver, since]);
  const isNew = data === undefined ? failure === undefined : data.key !== key;
  return {
    asked: { ...asked, data: data?.answer, since: isNew ? since : null },
    /** When the answer came, by the page's own clock. */
    at: data?.at ?? 0,
    paused,
    pause(on: boolean) {
      setPaused(on);
      if (!on) again();
    },
  };
}

export const usePolled = <N extends CallName>(name: N) =>
  useRepeated({ key: name, ask: (signal) => call(name, { signal }) });
