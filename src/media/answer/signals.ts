/** Whether a file is fine, in a few words for each part of its answer. */
import type { C2paReport, HlsReport, PolicyResult, ProbeReport, QcReport, Timeline } from '../../api_types.ts';
import { several } from '../../base/scaled.ts';
import { signOf, type Tone } from '../../base/signs.ts';
import { policyName } from '../ci_formats/policy_rules.ts';
import { findingsIn } from '../qc/words.ts';
import type { Comparison } from './comparison.ts';

export interface Signal {
  tone: Tone;
  text: string;
}

const signal = (tone: Tone, text: string): Signal => ({ tone, text });
const counted = (tone: Tone, count: number, noun: string): Signal =>
  count === 0 ? signal('good', `no ${noun}`) : signal(tone, several(count, noun));
/** Said only where there is one. */
const ifAny = (tone: Tone, count: number, noun: string): Signal[] => (count === 0 ? [] : [counted(tone, count, noun)]);

const VERDICTS: Readonly<Record<PolicyResult['outcome'], string>> = {
  fail: 'fails the policy',
  unknown: 'could not be judged by the policy',
  warn: 'passes, with warnings, the policy',
  pass: 'passes the policy',
  'not-applicable': 'no rule applies of the policy',
};

export const policySignal = (verdict: Pick<PolicyResult, 'outcome' | 'name' | 'revision'>): Signal =>
  signal(signOf(verdict.outcome).tone, `${VERDICTS[verdict.outcome]} ${policyName(verdict)}`);

export const disagreementSignals = ({ diff }: Pick<ProbeReport, 'diff'>): Signal[] =>
  diff
    ? [
        counted('warn', diff.length, 'disagreement'),
        ...ifAny('warn', diff.filter(({ chosen }) => chosen === null).length, 'undecided field'),
      ]
    : [signal('none', 'disagreements were left out')];

export const warningSignal = ({ warnings }: Pick<ProbeReport, 'warnings'>): Signal =>
  counted('warn', warnings.length, 'warning');

export const hlsSignals = ({ summary }: HlsReport): Signal[] => [
  counted('bad', summary.must_fix, 'must-fix finding'),
  ...ifAny('warn', summary.should_fix, 'should-fix finding'),
];

/** A manifest that is valid may be of anybody. */
const PROVENANCE: Readonly<Record<string, Signal>> = {
  Trusted: signal('good', 'the C2PA manifest holds, and its signer is trusted'),
  Valid: signal('warn', 'the C2PA manifest holds, but its signer is not on a list of trust'),
  Invalid: signal('bad', 'the C2PA manifest does not hold'),
};

export function provenanceSignal({ active_manifest: active, validation_state: state }: C2paReport): Signal {
  if (active === null) return signal('none', 'there is no C2PA manifest');
  return PROVENANCE[String(state)] ?? signal('warn', 'the C2PA manifest was not validated');
}

/** `waived`: of its findings. */
export const contentSignals = (report: QcReport, waived: number): Signal[] => [
  counted('warn', Math.max(0, findingsIn(report) - waived), 'content finding'),
  ...ifAny('none', waived, 'waived content finding'),
  ...(report.cut === undefined ? [] : [signal('warn', 'the content checks were cut short')]),
];

const total = (streams: Timeline['streams'], of: 'gaps' | 'jumps'): number =>
  streams.reduce((sum, stream) => sum + stream[of].count, 0);

export const timelineSignals = ({ streams, until }: Pick<Timeline, 'streams' | 'until'>): Signal[] => [
  counted('warn', total(streams, 'gaps'), 'timeline gap'),
  ...ifAny('warn', total(streams, 'jumps'), 'backward time jump'),
  ...(until === undefined ? [] : [signal('warn', 'the timeline was cut short')]),
];

/** What a release is known to change is as intended. */
export const comparisonSignal = ({ summary: { fields, known } }: Comparison): Signal =>
  counted(fields > known ? 'warn' : 'good', fields, 'changed field');
