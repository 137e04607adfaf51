/**
 * Text of a stranger: names, tags, addresses. It stands in a box of its own direction, control and direction characters
 * are visible as symbols, and what is long is cut.
 */
import { useState } from 'preact/hooks';
import { inPieces } from '../../base/visible.ts';

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

/** Under a value: why it is so. */
export const Below = ({ text, most }: { text: string | undefined; most?: number | undefined }) =>
  text === undefined ? null : (
    <div class="unit">
      <Stranger text={text} most={most} />
    </div>
  );

/** An error of a tool, with its code for programs beside it. */
export function Reason({ text, code }: { text: string; code?: string | undefined }) {
  return (
    <>
      <Stranger text={text} />
      {code !== undefined && <code> {code}</code>}
    </>
  );
}
