/** A question in front of the page. The browser keeps the focus inside, and Escape closes it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Form } from './form.tsx';

/** Without `close` only an answer closes it. */
export function Dialog({ title, close, children }: { title: string; close?: () => void; children: ComponentChildren }) {
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

interface AskFirstProps {
  /** What it says; the question repeats it where nothing else is given. */
  button: string;
  /** What it is about, where its words do not say it. */
  label?: string;
  kind?: string | undefined;
  title?: string;
  submit?: string;
  danger?: boolean;
  work: (values: FormData) => Promise<void>;
  children: ComponentChildren;
}

/** A button that asks before it works. The question closes when the work is done. */
export function AskFirst(props: AskFirstProps) {
  const { button, label, kind, title = `${button}?`, submit = button, danger = false, work, children } = props;
  const [open, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" class={kind} onClick={() => setOpen(true)} aria-label={label}>
        {button}
      </button>
      {open && (
        <Dialog title={title} close={close}>
          <Form
            submit={submit}
            danger={danger}
            work={async (values) => {
              await work(values);
              close();
            }}
          >
            {children}
          </Form>
        </Dialog>
      )}
    </>
  );
}
