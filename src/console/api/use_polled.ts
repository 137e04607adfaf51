/** A call that is repeated while the page is visible: the last answer stays in view until the next one. */
import { useEffect, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { session } from '../session.ts';
import { call, isFailure } from './client.ts';
import type { Answer, CallName } from '../../api_calls.ts';
import type { Failure } from './failure.ts';
import type { Asked } from './use_call.ts';

const EVERY_MS = 2_000;
/** Of these another try comes to the same. */
const FINAL: readonly Failure['kind'][] = ['refused', 'signed-out'];

export interface Polled<T> {
  asked: Asked<T>;
  /** When the answer came, by the page's own clock. */
  at: number;
  paused: boolean;
  pause(paused: boolean): void;
}

interface State<T> {
  data: T | undefined;
  at: number;
  failure: Failure | undefined;
}

export function usePolled<N extends CallName>(name: N): Polled<Answer<N>> {
  const [state, setState] = useState<State<Answer<N>>>({ data: undefined, at: 0, failure: undefined });
  const [began, setBegan] = useState(() => performance.now());
  const [round, setRound] = useState(0);
  const [paused, pause] = useState(false);
  const [stopped, setStopped] = useState(false);
  const { signIns } = useCell(session);

  useEffect(() => {
    if (paused || stopped) return;
    const controller = new AbortController();
    const { signal } = controller;
    let timer = 0;
    let under = false;
    setBegan(performance.now());
    const turn = async (): Promise<void> => {
      if (under || document.hidden || signal.aborted) return;
      under = true;
      clearTimeout(timer);
      let isOver = false;
      try {
        const data = await call(name, { signal });
        if (!signal.aborted) setState({ data, at: performance.now(), failure: undefined });
      } catch (error) {
        if (signal.aborted) return;
        if (!isFailure(error)) throw error;
        isOver = FINAL.includes(error.kind);
        setState((before) => ({ ...before, failure: error }));
      } finally {
        under = false;
      }
      if (!isOver) timer = window.setTimeout(() => void turn(), EVERY_MS);
    };
    const seen = (): void => void turn();
    document.addEventListener('visibilitychange', seen);
    void turn();
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [name, paused, stopped, round, signIns]);

  const { data, at, failure } = state;
  const isFirst = data === undefined && failure === undefined && !stopped;
  return {
    asked: {
      data,
      failure,
      since: isFirst ? began : null,
      stopped,
      again() {
        setStopped(false);
        setRound((before) => before + 1);
      },
      stop: () => setStopped(true),
    },
    at,
    paused,
    pause,
  };
}
