/** A secret: covered until it is asked for, and kept on the page alone. */
import { useState } from 'preact/hooks';
import { Copy } from './copy.tsx';

interface SecretProps {
  label: string;
  /** Null: it cannot be shown. */
  text: string | null;
}

export function Secret({ label, text }: SecretProps) {
  const [shown, setShown] = useState(false);
  if (text === null) return <span class="unit">not shown again on this installation</span>;
  return (
    <span class="secret">
      <code aria-label={label}>{shown ? text : '•'.repeat(16)}</code>{' '}
      <button type="button" class="small" aria-pressed={shown} onClick={() => setShown(!shown)}>
        {shown ? `Hide ${label.toLowerCase()}` : `Show ${label.toLowerCase()}`}
      </button>{' '}
      <Copy text={() => text}>{`Copy ${label.toLowerCase()}`}</Copy>
    </span>
  );
}
