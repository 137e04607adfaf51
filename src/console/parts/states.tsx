/** The states that every page has beside its content: slow, stopped, refused, offline. Empty is the page's own. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Failure } from '../api/failure.ts';
import type { Asked } from '../api/use_call.ts';
import { Elapsed } from './values.tsx';

const TITLES: Record<Failure['kind'], string> = {
  'signed-out': 'You are signed out',
  refused: 'The server refused this',
  busy: 'The server is busy',
  offline: 'No connection',
  broken: 'This cannot be shown',
};

export function Refused({ failure, again }: { failure: Failure; again?: (() => void) | undefined }) {
  const { kind, text, requestId, retryAfter, status } = failure;
  useEffect(() => {
    if (kind !== 'offline' || !again) return;
    addEventListener('online', again);
    return () => removeEventListener('online', again);
  }, [kind, again]);
  return (
    <div class={`notice ${kind}`} role="alert">
      <h2>{status === 404 ? 'Not found' : TITLES[kind]}</h2>
      <p>{text}</p>
      {retryAfter !== null && <p>It asks to be tried again in {retryAfter} s.</p>}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
      {requestId !== null && kind !== 'signed-out' && (
        <p class="unit">
          Request <code>{requestId}</code>
        </p>
      )}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="notice empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Waits shorter than this are not worth a word: it would only flicker. */
const NOTICED_MS = 250;

function Waiting({ what, since, stop }: { what: string; since: number; stop: () => void }) {
  const [noticed, setNoticed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setNoticed(true), NOTICED_MS);
    return () => clearTimeout(timer);
  }, [since]);
  if (!noticed) return <div class="waiting" aria-busy="true" />;
  return (
    <div class="waiting">
      <span role="status">Waiting for {what}</span> <Elapsed since={since} />{' '}
      <button type="button" class="small" onClick={stop}>
        Stop
      </button>
    </div>
  );
}

interface AwaitProps<T> {
  asked: Asked<T>;
  /** Of what the page waits: "the tokens". */
  what: string;
  children: (data: T) => ComponentChildren;
}

/** The former answer stays in view while the next one is waited for, and is marked as old. */
export function Await<T>({ asked, what, children }: AwaitProps<T>) {
  const { data, failure, since, stopped, again, stop } = asked;
  return (
    <>
      {since !== null && <Waiting what={what} since={since} stop={stop} />}
      {since === null && failure && <Refused failure={failure} again={again} />}
      {stopped && (
        <div class="notice">
          <p>Stopped waiting for {what}.</p>
          <button type="button" onClick={again}>
            Try again
          </button>
        </div>
      )}
      {data !== undefined && !(since === null && failure?.status === 404) && (
        <div aria-busy={since !== null}>{children(data)}</div>
      )}
    </>
  );
}

/** Why the work of a button came to nothing, beside it. */
export const Wrong = ({ failure }: { failure: Failure | null }) =>
  failure && (
    <span class="wrong" role="alert">
      {failure.text}
    </span>
  );
