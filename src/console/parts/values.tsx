/** Values on a page: outcomes, each a sign and a word, so that the colour is never alone; text of strangers; times. */
import { useState, useEffect } from 'preact/hooks';
import { signOf } from '../../base/signs.ts';
import { inPieces } from '../../base/visible.ts';
import { dateTime, type Figure } from './figures.ts';

/** Kinds of requests, as the navigation and the tabs call them. */
export const KIND_NAMES = { file: 'file', msv: 'HLS', c2pa: 'C2PA', compare: 'comparison', cached: 'cached' } as const;

/** `name` stands in place of the word, which is still read out. */
export function Status({ of, name }: { of: string; name?: string }) {
  const { sign, tone } = signOf(of);
  return (
    <span class={`status ${tone}`}>
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

// Text of a stranger: names, tags, addresses. It stands in a box of its own direction, control and direction characters
// are visible as symbols, and what is long is cut.

const SHOWN = 300;

export function Stranger({ text, most = SHOWN }: { text: string; most?: number | undefined }) {
  const [whole, showWhole] = useState(false);
  const cut = !whole && text.length > most;
  return (
    <bdi class="stranger">
      {inPieces(cut ? text.slice(0, most) : text).map((piece) =>
        piece.name === null ? (
          piece.text
        ) : (
          <span class="sign" title={piece.name}>
            {piece.text}
          </span>
        ),
      )}
      {cut && (
        <>
          …{' '}
          <button type="button" class="link" onClick={() => showWhole(true)}>
            show all ({text.length.toLocaleString()} characters)
          </button>
        </>
      )}
    </bdi>
  );
}

interface ReasonProps {
  text: string;
  code?: string | undefined;
  most?: number | undefined;
}

/** An error of a tool, with its code for programs beside it. */
export const Reason = ({ text, code, most }: ReasonProps) => (
  <>
    <Stranger text={text} most={most} />
    {code !== undefined && <code> {code}</code>}
  </>
);

// Times in the reader's zone; the exact one, in UTC, is one hover away.

export function Time({ iso }: { iso: string }) {
  return (
    <time dateTime={iso} title={iso}>
      {dateTime(iso)}
    </time>
  );
}

export function Amount({ value, unit }: Figure) {
  return (
    <span class="amount">
      {value} <span class="unit">{unit}</span>
    </span>
  );
}

/** How long something has gone on. `whole`: tenths would run beside other figures without a pause. */
export function Elapsed({ since, whole = false }: { since: number; whole?: boolean }) {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    setNow(performance.now());
    const timer = setInterval(() => setNow(performance.now()), whole ? 1_000 : 200);
    return () => clearInterval(timer);
  }, [since, whole]);
  const seconds = Math.max(0, now - since) / 1_000;
  return <span class="amount">{whole ? Math.round(seconds) : seconds.toFixed(1)} s</span>;
}
