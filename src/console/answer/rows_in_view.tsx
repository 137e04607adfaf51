/**
 * Rows of a long text: as many as are in view, and some before and behind them. The browser's own scroll bar and keys
 * move it. A browser's pages end at some 17 million pixels, so that very long texts are in parts.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { count } from '../parts/figures.ts';

const ROW_PIXELS = 20;
const MOST_IN_PART = 200_000;
/** Drawn beyond the edges of the view. */
const SPARE = 30;
/** A scroll that a key began may go on after a row was asked for, and lead away from it. */
const HELD_MS = 2_000;
/** In view, until the view has been measured. */
const FIRST = 60;

interface RowsInViewProps {
  label: string;
  rows: number;
  read: (from: number, to: number) => Promise<string[]>;
  /** What is marked in the rows; empty: nothing. */
  marked: string;
  /** A row to be scrolled to. */
  shown: number | null;
}

/** A place that the view is held at, until somebody moves it. */
interface Place {
  top: number;
  until: number;
}

interface Drawn {
  from: number;
  texts: string[];
}

function Marked({ text, marked }: { text: string; marked: string }) {
  const wanted = marked.toLowerCase();
  const lower = text.toLowerCase();
  if (wanted === '' || lower.length !== text.length || !lower.includes(wanted)) return <>{text}</>;
  const pieces = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    pieces.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + wanted.length)}</mark>);
    from = at + wanted.length;
  }
  return (
    <>
      {pieces}
      {text.slice(from)}
    </>
  );
}

interface PartsProps {
  part: number;
  rows: number;
  choose: (part: number) => void;
}

function Parts({ part, rows, choose }: PartsProps) {
  const last = Math.ceil(rows / MOST_IN_PART) - 1;
  if (last < 1) return null;
  return (
    <p class="actions">
      <span role="status">
        Rows {count(part * MOST_IN_PART + 1)} to {count(Math.min(rows, (part + 1) * MOST_IN_PART))} of {count(rows)}
      </span>
      <button type="button" class="small" disabled={part === 0} onClick={() => choose(part - 1)}>
        Earlier rows
      </button>
      <button type="button" class="small" disabled={part === last} onClick={() => choose(part + 1)}>
        Later rows
      </button>
    </p>
  );
}

export function RowsInView({ label, rows, read, marked, shown }: RowsInViewProps) {
  const view = useRef<HTMLDivElement>(null);
  const held = useRef<Place | null>(null);
  const [part, setPart] = useState(0);
  const [top, setTop] = useState(0);
  const [drawn, setDrawn] = useState<Drawn>({ from: 0, texts: [] });
  const before = part * MOST_IN_PART;
  const inPart = Math.min(rows - before, MOST_IN_PART);

  useLayoutEffect(() => {
    if (shown === null) return;
    const wanted = Math.floor(shown / MOST_IN_PART);
    const place = Math.max(0, shown - wanted * MOST_IN_PART - 5) * ROW_PIXELS;
    held.current = { top: place, until: performance.now() + HELD_MS };
    const scroll = () => view.current?.scrollTo({ top: place });
    if (wanted === part) return scroll();
    setPart(wanted);
    // Its height is that of the former part until it is drawn.
    requestAnimationFrame(scroll);
  }, [shown]);

  useLayoutEffect(() => {
    let over = false;
    const inView = Math.ceil((view.current?.clientHeight ?? 0) / ROW_PIXELS) || FIRST;
    const from = before + Math.max(0, top - SPARE);
    const to = Math.min(before + inPart, before + top + inView + SPARE);
    read(from, to).then(
      (texts) => {
        if (!over) setDrawn({ from, texts });
      },
      () => {},
    );
    return () => {
      over = true;
    };
  }, [part, top, rows]);

  const scrolled = (of: HTMLDivElement): void => {
    setTop(Math.floor(of.scrollTop / ROW_PIXELS));
    if (held.current === null || performance.now() > held.current.until) return;
    const place = Math.min(held.current.top, of.scrollHeight - of.clientHeight);
    if (Math.abs(of.scrollTop - place) > ROW_PIXELS) of.scrollTo({ top: place });
  };
  const release = (): void => {
    held.current = null;
  };
  const choose = (to: number): void => {
    release();
    setPart(to);
    view.current?.scrollTo({ top: 0 });
  };
  return (
    <>
      <Parts part={part} rows={rows} choose={choose} />
      <div
        ref={view}
        class="output rows"
        tabIndex={0}
        role="region"
        aria-label={label}
        onScroll={(event) => scrolled(event.currentTarget)}
        onKeyDown={release}
        onPointerDown={release}
        onTouchStart={release}
        onWheel={release}
      >
        <div style={{ height: `${inPart * ROW_PIXELS}px` }}>
          <pre style={{ transform: `translateY(${(drawn.from - before) * ROW_PIXELS}px)` }}>
            {drawn.texts.map((text, index) => (
              <span key={drawn.from + index} class={drawn.from + index === shown ? 'row at' : 'row'}>
                <Marked text={text} marked={marked} />
                {'\n'}
              </span>
            ))}
          </pre>
        </div>
      </div>
    </>
  );
}
