/** The four steps of a request, each with its time since it was queued. */
import type { Standing } from '../../api_types.ts';
import { Elapsed } from '../parts/values.tsx';
import type { Facts } from '../worker/protocol.ts';

const STEPS = [
  ['queued', 'Queued'],
  ['admitted', 'Admitted'],
  ['running', 'Tools'],
  ['recorded', 'Recorded'],
] as const;
type Step = (typeof STEPS)[number][0];

/** Seconds; null: it did not come to that. Absent: not known. */
export type StepTimes = Partial<Record<Step, number | null>>;

const secondsBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1_000;
export const after = (seconds: number): string => `after ${Math.max(0, seconds).toFixed(2)} s`;

export function timesOfStanding({ steps }: Standing): StepTimes {
  const since = (step: 'admitted' | 'running'): StepTimes =>
    steps[step] === null ? {} : { [step]: secondsBetween(steps.queued, steps[step]) };
  return { queued: 0, ...since('admitted'), ...since('running') };
}

/** The order to a runner directly follows the admission. */
export function timesOfRecord({ send, admitted, ended }: Pick<Facts, 'send' | 'admitted' | 'ended'>): StepTimes {
  const start = admitted === undefined ? null : secondsBetween(send, admitted);
  return { queued: 0, admitted: start, running: start, recorded: secondsBetween(send, ended) };
}

/** What is waited for now. */
export const stepOf = (standing: Standing | null): Step =>
  !standing || standing.state === 'queued' ? 'queued' : standing.steps.running === null ? 'admitted' : 'running';
export const titleOf = (step: Step): string => STEPS.find(([one]) => one === step)![1];

interface StepsProps {
  times: StepTimes;
  /** The step that is waited for; null: all are over. */
  now: Step | null;
  /** Since when, by the clock of this page. */
  since?: number;
  /** Why it waits. */
  why?: string | undefined;
  /** In percent, of the step that is waited for. */
  progress?: number | null | undefined;
}

export function Steps({ times, now, since, why, progress }: StepsProps) {
  const at = now === null ? STEPS.length : STEPS.findIndex(([step]) => step === now);
  return (
    <ol class="steps" aria-label="Steps">
      {STEPS.map(([step, title], index) => {
        const time = times[step];
        const isNow = index === at;
        const kind = isNow ? 'now' : index > at || time === null ? 'ahead' : 'done';
        return (
          <li key={step} class={kind} aria-current={isNow ? 'step' : undefined}>
            <span aria-hidden="true">{{ done: '✓', now: '●', ahead: '○' }[kind]}</span> {title}
            {kind === 'done' && typeof time === 'number' && step !== 'queued' && (
              <span class="unit"> {after(time)}</span>
            )}
            {index < at && time === null && <span class="unit"> never</span>}
            {isNow && since !== undefined && (
              <span class="unit">
                {' '}
                for <Elapsed since={since} />
              </span>
            )}
            {isNow && typeof progress === 'number' && (
              <>
                {' '}
                <progress value={progress} max={100} aria-label="Checked" /> <span class="unit">{progress} %</span>
              </>
            )}
            {isNow && why !== undefined && <p class="help">{why}</p>}
          </li>
        );
      })}
    </ol>
  );
}
