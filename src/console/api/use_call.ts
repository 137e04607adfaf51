/** A call that a page shows the answer of: made when what is asked for changes, and again when asked to. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { session } from '../session.ts';
import { call, isFailure, type Answer, type CallName, type Given } from './client.ts';
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

export function useCall<N extends CallName>(name: N, given: Omit<Given<N>, 'signal'> = {}): Asked<Answer<N>> {
  const [data, setData] = useState<Answer<N>>();
  const [failure, setFailure] = useState<Failure>();
  const [since, setSince] = useState<number | null>(() => performance.now());
  const [stopped, setStopped] = useState(false);
  const [round, setRound] = useState(0);
  const abort = useRef<AbortController>(null);
  const asked = JSON.stringify([name, given]);
  const { signIns } = useCell(session);

  useEffect(() => {
    const controller = new AbortController();
    abort.current = controller;
    setSince(performance.now());
    setStopped(false);
    call(name, { ...given, signal: controller.signal }).then(
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
  }, [asked, round, signIns]);

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
