/** Outcomes, each a sign and a word, so that the colour is never alone; and marks. */
const SIGNS: readonly (readonly [sign: string, kind: string, words: readonly string[]])[] = [
  ['✓', 'good', ['success', 'delivered', 'pass', 'passed', 'up', 'serving', 'ready', 'active', 'Valid', 'Trusted']],
  ['✕', 'bad', ['error', 'failed', 'fail', 'down', 'not serving', 'refused', 'suspended', 'must-fix', 'Invalid']],
  ['◐', 'warn', ['with-errors', 'short', 'degraded']],
  ['…', 'warn', ['pending', 'proving', 'starting']],
  ['⚠', 'warn', ['warn', 'should-fix']],
  ['?', 'warn', ['unknown']],
  ['●', 'good', ['busy']],
  ['○', 'none', ['idle']],
  ['i', 'none', ['info', 'remark']],
];

/** Kinds of requests, as the navigation and the tabs call them. */
export const KIND_NAMES = { file: 'file', msv: 'HLS', c2pa: 'C2PA', compare: 'comparison' } as const;

interface StatusProps {
  of: string;
  /** Stands in place of the word, which is still read out. */
  name?: string;
}

export function Status({ of, name }: StatusProps) {
  const [sign, kind] = SIGNS.find(([, , words]) => words.includes(of)) ?? ['–', 'none'];
  return (
    <span class={`status ${kind}`}>
      <span aria-hidden="true">{sign}</span> {name ?? of}
      {name !== undefined && <span class="unseen">: {of}</span>}
    </span>
  );
}

/** A word behind a name or a value. */
export const Mark = ({ text }: { text: string }) => (
  <>
    {' '}
    <span class="mark">{text}</span>
  </>
);
