/** What a word for an outcome, a state or a level means: a sign and a tone, so that the colour is never alone. */
export type Tone = 'good' | 'warn' | 'bad' | 'none';

export const SIGNS: Readonly<Record<Tone, string>> = { good: '✓', warn: '⚠', bad: '✕', none: '–' };

const WORDS: readonly (readonly [sign: string, tone: Tone, words: readonly string[]])[] = [
  [
    SIGNS.good,
    'good',
    ['success', 'done', 'delivered', 'pass', 'passed', 'up', 'serving', 'ready', 'active', 'Trusted'],
  ],
  [
    SIGNS.bad,
    'bad',
    ['error', 'denied', 'failed', 'fail', 'down', 'not serving', 'refused', 'suspended', 'must-fix', 'Invalid'],
  ],
  [SIGNS.bad, 'bad', ['stopped', 'block', 'blocks']],
  ['◐', 'warn', ['with-errors', 'short', 'degraded', 'paused']],
  ['…', 'warn', ['pending', 'proving', 'starting']],
  [SIGNS.warn, 'warn', ['warn', 'should-fix', 'Valid']],
  ['?', 'warn', ['unknown']],
  ['●', 'good', ['busy', 'running']],
  ['○', 'none', ['idle', 'waiting']],
  ['i', 'none', ['info', 'remark']],
];

export function signOf(word: string): { sign: string; tone: Tone } {
  const [sign, tone] = WORDS.find(([, , words]) => words.includes(word)) ?? [SIGNS.none, 'none' as const];
  return { sign, tone };
}
