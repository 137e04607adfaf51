/** A request that was sent: its four steps with their times, the way to cancel it, then its answer. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Answer } from '../answer/answer.tsx';
import { isFailure } from '../api/client.ts';
import type { Failure } from '../api/failure.ts';
import type { HeldToken } from '../api/gateway.ts';
import type { Standing } from '../api/types.ts';
import { useAsked } from '../api/use_call.ts';
import { Await, Refused } from '../parts/states.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { Elapsed } from '../parts/time.tsx';
import { hrefOf } from '../router.ts';
import { openAnswer } from '../worker/open_answer.ts';
import { cancel, follow, pauseAfter, type Followed } from './follow.ts';

interface RunState {
  standing: Standing | null;
  /** When the last step was first seen: the clock of this page. */
  since: number;
  ended: Extract<Followed, { ended: true }> | null;
  /** It could not be asked for; it may still run. */
  failure: Failure | null;
}

function useRun(id: string, bearer: string): RunState & { again: () => void } {
  const [state, setState] = useState<RunState>({
    standing: null,
    since: performance.now(),
    ended: null,
    failure: null,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    let timer = 0;
    let looks = 0;
    const look = async (): Promise<void> => {
      try {
        const told = await follow(id, bearer, gone.signal);
        if (gone.signal.aborted) return;
        setState((before) => {
          if ('ended' in told) return { ...before, ended: told, failure: null };
          const moved = JSON.stringify(told.standing.steps) !== JSON.stringify(before.standing?.steps);
          return { ...before, standing: told.standing, failure: null, since: moved ? performance.now() : before.since };
        });
        if ('ended' in told) return;
        looks += 1;
        timer = window.setTimeout(() => void look(), pauseAfter(looks));
      } catch (error) {
        if (gone.signal.aborted) return;
        if (!isFailure(error)) throw error;
        setState((before) => ({ ...before, failure: error }));
        if (error.kind === 'busy') timer = window.setTimeout(() => void look(), 1_000 * (error.retryAfter ?? 2));
      }
    };
    void look();
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [id, bearer, round]);
  return { ...state, again: () => setRound((before) => before + 1) };
}

const STEPS = [
  ['queued', 'Queued'],
  ['admitted', 'Admitted'],
  ['running', 'Tools'],
  ['recorded', 'Recorded'],
] as const;
type Step = (typeof STEPS)[number][0];

/** The one that is waited for now. */
function current({ standing, ended }: RunState): Step {
  if (ended) return 'recorded';
  if (!standing || standing.state === 'queued') return 'queued';
  return standing.steps.running === null ? 'admitted' : 'running';
}

/** Since it was queued. */
function timeOf({ standing }: RunState, step: Step): string | null {
  const at = step === 'recorded' ? null : standing?.steps[step];
  if (!standing || at === null || at === undefined) return null;
  const seconds = (Date.parse(at) - Date.parse(standing.steps.queued)) / 1_000;
  return step === 'queued' ? '' : `after ${seconds.toFixed(2)} s`;
}

function Steps({ state }: { state: RunState }) {
  const { standing, ended, since } = state;
  const now = STEPS.findIndex(([step]) => step === current(state));
  return (
    <ol class="steps" aria-label="Steps">
      {STEPS.map(([step, title], index) => {
        const done = ended !== null || index < now;
        const isNow = ended === null && index === now;
        return (
          <li key={step} class={done ? 'done' : isNow ? 'now' : 'ahead'} aria-current={isNow ? 'step' : undefined}>
            <span aria-hidden="true">{done ? '✓' : isNow ? '●' : '○'}</span> {title}
            {done && <span class="unit"> {timeOf(state, step)}</span>}
            {isNow && (
              <span class="unit">
                {' '}
                for <Elapsed since={since} />
              </span>
            )}
            {isNow && standing?.waiting && <p class="help">{standing.waiting.text}</p>}
          </li>
        );
      })}
    </ol>
  );
}

function Ended({ id, failure }: { id: string; failure: Failure | null }) {
  const asked = useAsked(`answer ${id}`, (signal) => openAnswer(id, signal));
  return (
    <>
      {failure && (
        <div class="notice refused" role="status">
          <h2>{failure.status === 499 ? 'Cancelled' : `It ended with status ${failure.status}`}</h2>
          <p>
            <Stranger text={failure.text} />
          </p>
        </div>
      )}
      <p>
        <a href={hrefOf(`/requests/${id}`)}>The page of this request</a>
      </p>
      <Await asked={asked} what="the answer">
        {(answer) => <Answer answer={answer} />}
      </Await>
    </>
  );
}

function Cancel({ id, bearer }: { id: string; bearer: string }) {
  const [asked, setAsked] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const work = async (): Promise<void> => {
    setAsked(true);
    setFailure(null);
    try {
      await cancel(id, bearer);
    } catch (error) {
      setAsked(false);
      if (!isFailure(error)) throw error;
      setFailure(error);
    }
  };
  return (
    <>
      <button type="button" class="danger" disabled={asked} onClick={() => void work()}>
        {asked ? 'Cancelling …' : 'Cancel'}
      </button>
      {failure && (
        <span class="wrong" role="alert">
          {failure.text}
        </span>
      )}
    </>
  );
}

export function Run({ id, token }: { id: string; token: HeldToken }) {
  const state = useRun(id, token.text);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus();
    heading.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <section class="run">
      <h2 ref={heading} tabIndex={-1}>
        Request <code>{id}</code>
      </h2>
      <Steps state={state} />
      <p class="unseen" role="status">
        {STEPS.find(([step]) => step === current(state))![1]}
      </p>
      {state.failure && <Refused failure={state.failure} again={state.again} />}
      {state.ended ? (
        <Ended id={id} failure={state.ended.failure} />
      ) : (
        <p class="actions">
          <Cancel id={id} bearer={token.text} />
        </p>
      )}
    </section>
  );
}
