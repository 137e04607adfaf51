/** What each tool printed, as it printed it. Only the rows in view are drawn, and searching is the worker's work. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { count, several } from '../parts/figures.ts';
import type { Failure } from '../api/failure.ts';
import { FilterChoice, FilterText } from '../parts/filters.tsx';
import { Copy, download } from '../parts/copy.tsx';
import { WorkButton } from '../parts/form.tsx';
import { Empty, Refused } from '../parts/states.tsx';
import { Parts } from '../parts/table.tsx';
import { usePlace } from '../router.ts';
import type { OpenAnswer } from '../worker/open_answer.ts';
import type { Output } from '../worker/protocol.ts';
import type { Found } from '../worker/rows.ts';

// Rows of a long text: as many as are in view, and some before and behind them. The browser's own scroll bar and keys
// move it. A browser's pages end at some 17 million pixels, so that very long texts are in parts.

const ROW_PIXELS = 20;
const MOST_IN_PART = 200_000;
/** Drawn beyond the edges of the view. */
const SPARE = 30;
/** A scroll that a key began may go on after a row was asked for, and lead away from it. */
const HELD_MS = 5_000;
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

interface Drawn {
  from: number;
  texts: string[];
}

/** What a worker that has failed does not answer is said once, above the rows. */
function whileShown<T>(answer: Promise<T>, show: (value: T) => void): () => void {
  let over = false;
  answer.then(
    (value) => {
      if (!over) show(value);
    },
    () => {},
  );
  return () => {
    over = true;
  };
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

function RowsInView({ label, rows, read, marked, shown }: RowsInViewProps) {
  const view = useRef<HTMLDivElement>(null);
  /** A place that the view is held at, until somebody moves it. */
  const held = useRef<{ top: number; until: number } | null>(null);
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
    const inView = Math.ceil((view.current?.clientHeight ?? 0) / ROW_PIXELS) || FIRST;
    const from = before + Math.max(0, top - SPARE);
    const to = Math.min(before + inPart, before + top + inView + SPARE);
    return whileShown(read(from, to), (texts) => setDrawn({ from, texts }));
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
      <Parts what="Rows" total={rows} most={MOST_IN_PART} part={part} choose={choose} />
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

/** A browser takes no longer text to the clipboard in a moment. */
const MOST_COPIED = 5_000_000;

function Hits({ found, at, go }: { found: Found | null; at: number; go: (to: number) => void }) {
  if (!found) return null;
  const { rows, cut } = found;
  const last = rows.length - 1;
  return (
    <span class="hits">
      <span role="status">
        {rows.length === 0
          ? 'Not found'
          : `Row ${count(at + 1)} of ${count(rows.length)}${cut ? ' and more' : ''} that hold it`}
      </span>
      <button type="button" class="small" disabled={last < 0} onClick={() => go(at === 0 ? last : at - 1)}>
        Previous
      </button>
      <button type="button" class="small" disabled={last < 0} onClick={() => go(at === last ? 0 : at + 1)}>
        Next
      </button>
    </span>
  );
}

/** Null: nothing is searched for, or the worker is still at it. */
function useFound(answer: OpenAnswer, output: string, text: string): Found | null {
  const [found, setFound] = useState<Found | null>(null);
  // An effect would wait for the next frame.
  useLayoutEffect(() => {
    setFound(null);
    if (text !== '') return whileShown(answer.ask('find', { output, text }), setFound);
  }, [answer, output, text]);
  return found;
}

function Shown({ answer, output }: { answer: OpenAnswer; output: Output }) {
  const { query } = usePlace();
  const text = query.get('find') ?? '';
  const found = useFound(answer, output.name, text);
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [found]);
  const whole = () => answer.ask('whole', { output: output.name });
  const [failure, setFailure] = useState<Failure | null>(null);
  useEffect(() => {
    setFailure(null);
    void answer.broken.then(setFailure);
  }, [answer]);
  return (
    <>
      {failure && <Refused failure={failure} />}
      <Hits found={found} at={at} go={setAt} />
      <RowsInView
        key={output.name}
        label={`Output: ${output.title}`}
        rows={output.rows}
        read={(from, to) => answer.ask('rows', { output: output.name, from, to })}
        marked={text}
        shown={found?.rows[at] ?? null}
      />
      <p class="actions">
        <span class="unit">
          {several(output.characters, 'character')} in {several(output.rows, 'row')}
        </span>
        {output.characters <= MOST_COPIED && (
          <Copy text={async () => (await whole()).text()} label={`Copy the output of ${output.title}`} />
        )}
        <WorkButton
          work={async () => download(`${answer.facts.id}-${output.name}.txt`, await whole())}
          label={`Download the output of ${output.title}`}
        >
          Download
        </WorkButton>
      </p>
    </>
  );
}

export function Raw({ answer }: { answer: OpenAnswer }) {
  const { query } = usePlace();
  const { outputs, tooLong, facts } = answer;
  const output = outputs.find(({ name }) => name === query.get('output')) ?? outputs[0]!;
  return (
    <>
      {tooLong && (
        <Empty title="The outputs are too long to be shown">
          <p>Together they are above 100 MB. Download them to read them with a program.</p>
          <p>
            <a href={`/frontend/api/v1/media/log/${facts.id}`} download={`${facts.id}.json`}>
              Download all outputs as JSON
            </a>
          </p>
        </Empty>
      )}
      {!tooLong && outputs.length === 1 && (
        <Empty title="No output is kept">
          <p>No tool printed anything, or the result has expired: results are kept for a shorter time than the log.</p>
        </Empty>
      )}
      <search class="filters">
        <FilterChoice
          name="output"
          label="Output"
          values={outputs.map(({ name, title }, index) => [index === 0 ? '' : name, title] as const)}
        />
        <FilterText name="find" label="Find" placeholder="text" />
      </search>
      <Shown answer={answer} output={output} />
    </>
  );
}
