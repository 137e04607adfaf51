/** A new batch: its sources, and the template that the playground has made. */
import { useId, useState } from 'preact/hooks';
import { call, isFailure } from '../api/client.ts';
import { broken, type Failure } from '../api/failure.ts';
import { asToken, type HeldToken } from '../api/gateway.ts';
import { useWork } from '../api/use_call.ts';
import type { AvailableTool, PolicyRow } from '../../api_types.ts';
import { bytes, count, said } from '../parts/figures.ts';
import { type Choices, Field, type FieldProps, Form, numberIn, textIn } from '../parts/form.tsx';
import { Wrong } from '../parts/states.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { PolicyField } from '../playground/fields.tsx';
import { bodyOf as bodyOfForm } from '../playground/form.ts';
import { go, hrefOf, usePlace } from '../router.ts';
import { tokenChosen } from './batches.tsx';
import { bodyOf, inLines, linesIn, MOST_BYTES, MOST_ITEMS } from './batch_lines.ts';

const LIST = 'items';

const ofList = (text: string): Failure => ({ ...broken(text), kind: 'refused', field: LIST });

/** A timeline is that of one address: it is no part of a batch. */
export const templateOf = (query: URLSearchParams, tools: readonly AvailableTool[]): object => {
  const { url: _url, timeline: _timeline, ...template } = bodyOfForm('', query, tools);
  return template;
};

const LIMITS = [
  { name: 'concurrency', label: 'Jobs at once', max: 100, help: 'Default: half of what the token may, at most 4.' },
  { name: 'per_host', label: 'Jobs of one host at once', max: 8, help: 'Default: 4.' },
  { name: 'tries', label: 'Tries of an item', max: 5, help: 'Of failures that may pass. Default: 3.' },
  { name: 'max_requests', label: 'Budget of requests', max: 1_000_000_000, help: 'Then it stops. Default: none.' },
] as const;

export const Limits = () => (
  <details>
    <summary>Limits</summary>
    {LIMITS.map((field) => (
      <Field key={field.name} {...field} type="number" min={1} />
    ))}
  </details>
);

function limitsIn(values: FormData): object {
  const given = LIMITS.map(({ name }) => [name, numberIn(values, name)] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== null));
}

/** By the field of the API that says where they are. */
const PLACES: Choices = [
  [LIST, 'Lines'],
  ['items_url', 'A list at an address'],
  ['bucket', 'A bucket'],
];

const OF_BUCKET: readonly FieldProps[] = [
  { name: 'probe.credential', label: 'Credential', help: 'The name of one that the operator has configured.' },
  { name: 'bucket.include', label: 'Only what fits', rows: 2, help: 'Patterns, one on each line. Empty: everything.' },
  { name: 'bucket.exclude', label: 'Nothing that fits', rows: 2, help: 'Patterns, one on each line.' },
  { name: 'bucket.min_bytes', label: 'Smallest size', type: 'number', min: 0, unit: 'bytes' },
  { name: 'bucket.max_bytes', label: 'Largest size', type: 'number', min: 0, unit: 'bytes' },
  { name: 'bucket.modified_after', label: 'Modified on or after', type: 'date', unit: 'UTC' },
  { name: 'bucket.modified_before', label: 'Modified before', type: 'date', unit: 'UTC' },
];

export const BucketFields = () => (
  <>
    <Field
      name="bucket.url"
      label="Address of the bucket"
      required
      help="With the beginning of the names. gs:// and az:// are read, too."
      placeholder="s3://films/2026/"
    />
    {OF_BUCKET.map((field) => (
      <Field key={field.name} {...field} />
    ))}
  </>
);

export function bucketIn(values: FormData) {
  const text = (name: string): string => textIn(values, `bucket.${name}`).trim();
  const patterns = (name: string): string[] => linesIn(text(name)).map((line) => line.text);
  const day = (name: string): string | null => (text(name) === '' ? null : `${text(name)}T00:00:00Z`);
  return {
    url: text('url'),
    include: patterns('include'),
    exclude: patterns('exclude'),
    min_bytes: numberIn(values, 'bucket.min_bytes'),
    max_bytes: numberIn(values, 'bucket.max_bytes'),
    modified_after: day('modified_after'),
    modified_before: day('modified_before'),
  };
}

/** What stands in for the list. */
function elsewhere(values: FormData, place: string): object {
  if (place === 'bucket') return { bucket: bucketIn(values) };
  return place === LIST ? {} : { [place]: textIn(values, place).trim() };
}

/** The fields that a batch of any kind has. */
export function headIn(values: FormData, probe: object) {
  const name = textIn(values, 'name').trim();
  const credential = textIn(values, 'probe.credential').trim();
  return {
    ...(name === '' ? {} : { name }),
    probe: { ...probe, ...(credential === '' ? {} : { credential }) },
    ...limitsIn(values),
  };
}

const NOTHING = { content: '', idempotencyKey: '' };
/** What was sent last: the answer may have been lost, and another try must not create a second batch. */
let last = NOTHING;

function keyOf(content: string): string {
  if (last.content !== content) last = { content, idempotencyKey: `${Date.now()}-${Math.random()}` };
  return last.idempotencyKey;
}

async function create(values: FormData, text: string, probe: object, bearer: string): Promise<string> {
  const place = textIn(values, 'place');
  const lines = place === LIST ? linesIn(text) : [];
  if (place === LIST && lines.length === 0) throw ofList('The list has no address.');
  if (lines.length > MOST_ITEMS)
    throw ofList(
      `The list has ${count(lines.length)} addresses, at most ${count(MOST_ITEMS)}: create several batches.`,
    );
  const fields = { ...headIn(values, probe), ...elsewhere(values, place) };
  const content = bodyOf(fields, lines);
  try {
    const sent = { type: 'application/x-ndjson', content };
    const { id } = await asToken(call('POST /v1/batch', { text: sent, idempotencyKey: keyOf(content), bearer }));
    // The same list once more is another batch.
    last = NOTHING;
    return id;
  } catch (error) {
    // Not each of them has the field apart from its text.
    if (!isFailure(error) || !/^items\b/.test(error.text)) throw error;
    const wrong: Failure = { ...error, text: inLines(error.text, lines), field: LIST };
    throw wrong;
  }
}

/** A file of lines takes the place of the list. */
function FromFile({ take }: { take: (text: string) => void }) {
  const id = useId();
  const { failure, start } = useWork();
  const read = (file: File | undefined): void => {
    if (!file) return;
    void start('read', async () => {
      if (file.size > MOST_BYTES)
        throw ofList(`The file has ${said(bytes(file.size))}, at most ${said(bytes(MOST_BYTES))}.`);
      take(await file.text().catch(() => Promise.reject(ofList('The browser cannot read the file.'))));
    });
  };
  return (
    <div class="field">
      <label for={id}>Or a file of lines</label>
      <input id={id} type="file" onChange={(event) => read(event.currentTarget.files?.[0])} />
      <Wrong failure={failure} />
    </div>
  );
}

interface SourcesProps {
  text: string;
  setText: (text: string) => void;
}

function Sources({ text, setText }: SourcesProps) {
  const [place, setPlace] = useState(LIST);
  const items = linesIn(text).length;
  return (
    <>
      <Field name="place" label="Sources" values={PLACES} value={place} change={setPlace} />
      {place === LIST && (
        <>
          <Field
            name={LIST}
            label="Addresses"
            rows={10}
            value={text}
            change={setText}
            help={
              `${count(items)} of at most ${count(MOST_ITEMS)}. One on each line, or {"url": …, "ref": …}. Blank ` +
              'lines and lines that begin with # are left out.'
            }
            placeholder="https://media.example.com/film.mp4"
            autoComplete="off"
          />
          <FromFile take={setText} />
        </>
      )}
      {place === 'items_url' && (
        <Field
          name="items_url"
          label="Address of the list"
          required
          inputMode="url"
          help="Lines of addresses or of JSON, or CSV with a column url. It is read now."
          placeholder="https://media.example.com/library.csv"
        />
      )}
      {place === 'bucket' && <BucketFields />}
    </>
  );
}

/** Of a token that this page has made. */
export const EndsWithSession = ({ what, command }: { what: string; command: string }) => (
  <div class="notice">
    <p>
      The {what} stops when your session ends, because its token does. For a long one use <code>{command}</code> with a
      token of your own.
    </p>
  </div>
);

export function Template({ probe }: { probe: object }) {
  const { query } = usePlace();
  return (
    <details>
      <summary>
        Template <span class="unit">{Object.keys(probe).length === 0 ? 'as it is by default' : 'changed'}</span>
      </summary>
      <pre class="output" tabIndex={0} aria-label="The template as JSON">
        {JSON.stringify(probe, null, 2)}
      </pre>
      <p>
        <a href={hrefOf('/playground', query)}>Change it in the playground</a>
      </p>
    </details>
  );
}

export interface ReadyProps {
  token: HeldToken;
  tools: readonly AvailableTool[];
  policies: readonly PolicyRow[];
}

function Ready({ token, tools, policies }: ReadyProps) {
  const { query } = usePlace();
  const [text, setText] = useState('');
  const probe = templateOf(query, tools);
  return (
    <Form
      submit="Create the batch"
      work={async (values) => {
        const id = await create(values, text, probe, token.text);
        go(`/batches/${id}`, tokenChosen());
      }}
    >
      {token.made && <EndsWithSession what="batch" command="probeyard batch" />}
      <Field name="name" label="Name" maxLength={200} autoComplete="off" help="For people. It may be empty." />
      <Sources text={text} setText={setText} />
      <PolicyField policies={policies} />
      <Template probe={probe} />
      <Limits />
    </Form>
  );
}

export const read = (bearer: string, signal: AbortSignal) =>
  Promise.all([call('GET /v1/versions', { bearer, signal }), call('GET /v1/policy', { bearer, signal })] as const);

export const NewBatch = () => (
  <WithToken what="the tool versions" read={read}>
    {([{ tools }, { policies }], token) => <Ready token={token} tools={tools} policies={policies} />}
  </WithToken>
);
