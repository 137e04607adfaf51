/** Outcomes, each a sign and a word, so that the colour is never alone; and marks. */
const SIGNS: Record<string, { sign: string; kind: string }> = {
  success: { sign: '✓', kind: 'good' },
  delivered: { sign: '✓', kind: 'good' },
  'with-errors': { sign: '◐', kind: 'warn' },
  pending: { sign: '…', kind: 'warn' },
  error: { sign: '✕', kind: 'bad' },
  failed: { sign: '✕', kind: 'bad' },
  pass: { sign: '✓', kind: 'good' },
  passed: { sign: '✓', kind: 'good' },
  fail: { sign: '✕', kind: 'bad' },
  warn: { sign: '⚠', kind: 'warn' },
  up: { sign: '✓', kind: 'good' },
  down: { sign: '✕', kind: 'bad' },
  serving: { sign: '✓', kind: 'good' },
  short: { sign: '◐', kind: 'warn' },
  'not serving': { sign: '✕', kind: 'bad' },
  ready: { sign: '✓', kind: 'good' },
  proving: { sign: '…', kind: 'warn' },
  refused: { sign: '✕', kind: 'bad' },
  degraded: { sign: '◐', kind: 'warn' },
  busy: { sign: '●', kind: 'good' },
  idle: { sign: '○', kind: 'none' },
  starting: { sign: '…', kind: 'warn' },
  active: { sign: '✓', kind: 'good' },
  suspended: { sign: '✕', kind: 'bad' },
  'must-fix': { sign: '✕', kind: 'bad' },
  'should-fix': { sign: '⚠', kind: 'warn' },
  info: { sign: 'i', kind: 'none' },
  remark: { sign: 'i', kind: 'none' },
  unknown: { sign: '?', kind: 'warn' },
};

/** Kinds of requests, as the navigation and the tabs call them. */
export const KIND_NAMES = { file: 'file', msv: 'HLS', c2pa: 'C2PA', compare: 'comparison' } as const;

interface StatusProps {
  of: string;
  /** Stands in place of the word, which is still read out. */
  name?: string;
}

export function Status({ of, name }: StatusProps) {
  const { sign, kind } = SIGNS[of] ?? { sign: '–', kind: 'none' };
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
