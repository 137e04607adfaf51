/** What each tool printed, as it printed it. Only the rows in view are drawn, and searching is the worker's work. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { Failure } from '../api/failure.ts';
import { FilterChoice, FilterText } from '../parts/filters.tsx';
import { count, several } from '../parts/figures.ts';
import { Copy } from '../parts/copy.tsx';
import { download } from '../parts/download.ts';
import { Empty, Refused } from '../parts/states.tsx';
import { usePlace } from '../router.ts';
import type { OpenAnswer } from '../worker/open_answer.ts';
import type { Output } from '../worker/protocol.ts';
import type { Found } from '../worker/rows.ts';
import { RowsInView } from './rows_in_view.tsx';

/** A browser takes no longer text to the clipboard in a moment. */
const MOST_COPIED = 5_000_000;

interface SearchProps {
  found: Found | null;
  at: number;
  go: (to: number) => void;
}

function Hits({ found, at, go }: SearchProps) {
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
    let over = false;
    setFound(null);
    if (text !== '')
      void answer.ask('find', { output, text }).then(
        (one) => {
          if (!over) setFound(one);
        },
        () => {},
      );
    return () => {
      over = true;
    };
  }, [answer, output, text]);
  return found;
}

function Shown({ answer, output }: { answer: OpenAnswer; output: Output }) {
  const { query } = usePlace();
  const text = query.get('find') ?? '';
  const found = useFound(answer, output.name, text);
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [found]);
  const name = `${answer.facts.id}-${output.name}.txt`;
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
          <Copy text={async () => (await whole()).text()} label={`Copy the output of ${output.title}`}>
            Copy
          </Copy>
        )}
        <button
          type="button"
          class="small"
          onClick={() =>
            void whole().then(
              (blob) => download(name, blob),
              () => {},
            )
          }
          aria-label={`Download the output of ${output.title}`}
        >
          Download
        </button>
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
