/** A question in front of the page. The browser keeps the focus inside, and Escape closes it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

interface DialogProps {
  title: string;
  /** None: it cannot be closed without an answer. */
  close?: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => before?.focus();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={(event) => {
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        close?.();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
      {close && (
        <p class="actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      )}
    </dialog>
  );
}
