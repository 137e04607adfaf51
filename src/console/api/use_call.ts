/** A call that a page shows the answer of: made when what is asked for changes, and again when asked to. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { session } from '../session.ts';
import { call, isFailure, type Given } from './client.ts';
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
