/** Takes text to the clipboard, and says so. */
import { useRef, useState } from 'preact/hooks';

/** Hands a file to the browser. */
export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

/** Over plain http a page has no clipboard of its own, but the old command still works. */
async function toClipboard(text: string): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (!done) throw new Error('the browser refused');
}

interface CopyProps {
  /** Asked for when it is copied: it may be long. */
  text: () => string | Promise<string>;
  children?: string;
  /** What is copied, where the words of the button do not say it. */
  label?: string;
}

export function Copy({ text, children = 'Copy', label }: CopyProps) {
  const [done, setDone] = useState<string | null>(null);
  const timer = useRef(0);
  const copy = () => {
    Promise.resolve(text())
      .then(toClipboard)
      .then(
        () => setDone('Copied'),
        () => setDone('Not copied: the browser refused'),
      );
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setDone(null), 2_000);
  };
  return (
    <span class="copy">
      <button type="button" class="small" onClick={copy} aria-label={label}>
        {children}
      </button>
      <span role="status" class="said">
        {done}
      </span>
    </span>
  );
}

// A secret: covered until it is asked for, and kept on the page alone.

export function Secret({ label, text }: { label: string; text: string | undefined }) {
  const [shown, setShown] = useState(false);
  if (text === undefined) return <span class="unit">not shown again on this installation</span>;
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
