/** Policies: those of the account and the shared ones; and one of them, read, changed, tried on the record, saved. */
import { call, isFailure } from '../api/client.ts';
import { type PolicyRow, type SavedPolicy, KINDS, type PolicyEvaluation, POLICY_FIELDS } from '../../api_types.ts';
import { strangerColumn, timeColumn, Table, type Column, statusColumn } from '../parts/table.tsx';
import { Field, Form, textIn } from '../parts/form.tsx';
import { Empty } from '../parts/states.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { go, hrefOf } from '../router.ts';
import { useState, useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { asToken } from '../api/gateway.ts';
import { useWork } from '../api/use_call.ts';
import { AskFirst } from '../parts/dialog.tsx';
import { policyText, completionAt, placeOf, type Completion } from '../policies/text.ts';
import { may, useUser } from '../session.ts';
import { byOutcome } from '../../media/answer/policy.ts';
import type { Answer } from '../../api_calls.ts';
import { several } from '../parts/figures.ts';
import { Stranger } from '../parts/values.tsx';
import type { TargetedKeyboardEvent } from 'preact';
import type { Failure } from '../api/failure.ts';

const COLUMNS: readonly Column<PolicyRow>[] = [
  strangerColumn('Name', ({ name }) => name, {
    to: ({ name }) => hrefOf(`/policies/${name}`),
    mark: ({ name }) => name.startsWith('shared/') && 'shared',
  }),
  strangerColumn('For what', ({ description = '' }) => description, { most: 120 }),
  { title: 'Revision', text: ({ revision }) => String(revision), right: true },
  timeColumn('Saved', (row) => row.created_at),
];

/** As the API accepts it, so that a wrong one is told before anything is written. */
const PolicyName = (field: { label: string; value?: string; placeholder?: string }) => (
  <Field
    name="name"
    required
    maxLength={64}
    pattern="[a-z0-9]([a-z0-9._\-]*[a-z0-9])?"
    help={'1 to 64 lower-case letters, digits, ".", "_" and "-", the first and the last a letter or digit.'}
    {...field}
  />
);

const read = (bearer: string, signal: AbortSignal) => call('GET /v1/policy', { bearer, signal });

export const Policies = () => (
  <>
    <Form
      submit="Write a policy"
      work={async (values) => {
        go(`/policies/${encodeURIComponent(textIn(values, 'name').trim())}`);
      }}
    >
      <PolicyName label="Name of a new policy" placeholder="house-delivery" />
    </Form>
    <WithToken what="the policies" read={read}>
      {({ policies }) => (
        <Table caption="Policies" columns={COLUMNS} rows={policies} keyOf={({ name }) => name}>
          <Empty title="There are no policies">
            <p>A policy is a list of rules about a file. A request that names it is judged by it.</p>
          </Empty>
        </Table>
      )}
    </WithToken>
  </>
);

// One policy.

const SHARED = 'shared/';

const FIRST = `description: ""
rules:
  - name: wrapper
    field: container.format
    in: ["mp4", "mov"]
  - name: video
    each: video
    field: codec.name
    is: "h264"
`;

/** Null: there is none of this name yet. */
async function readPolicy(name: string, bearer: string, signal: AbortSignal): Promise<SavedPolicy | null> {
  const given = { params: { name: name.replace(SHARED, '') }, bearer, signal };
  if (name.startsWith(SHARED)) return call('GET /v1/policy/shared/:name', given);
  try {
    return await call('GET /v1/policy/:name', given);
  } catch (error) {
    if (isFailure(error) && error.status === 404) return null;
    throw error;
  }
}

function Remove({ name, bearer }: { name: string; bearer: string }) {
  return (
    <AskFirst
      button="Delete"
      kind="danger"
      title={`Delete the policy ${name}?`}
      submit="Delete the policy"
      danger
      work={async () => {
        await asToken(call('DELETE /v1/policy/:name', { params: { name }, bearer }));
        go('/policies');
      }}
    >
      <p>Its revisions are deleted. Those that requests on record were judged by stay readable by their number.</p>
    </AskFirst>
  );
}

function Open({ name, saved, bearer }: { name: string; saved: SavedPolicy | null; bearer: string }) {
  const user = useUser();
  const [text, setText] = useState(() => (saved ? policyText(saved.policy) : FIRST));
  const { busy, failure, start } = useWork();
  const [said, setSaid] = useState('');
  const [trial, setTrial] = useState<Judged[] | null>(null);
  const [revision, setRevision] = useState(saved?.revision ?? null);
  const shared = name.startsWith(SHARED);
  const mayWrite = may(user, 'write:policy');

  const work = (what: 'try' | 'save', done: () => Promise<void>): Promise<void> => {
    setSaid('');
    return start(what, done);
  };
  const put = (own: string) => {
    const content = { type: 'application/yaml', content: text };
    return asToken(call('PUT /v1/policy/:name', { params: { name: own }, text: content, bearer }));
  };
  const save = () =>
    work('save', async () => {
      const { revision: made, changed } = await put(name);
      setRevision(made);
      setSaid(changed ? `Saved as revision ${made}` : `Revision ${made} is the same`);
    });
  const attempt = () => work('try', async () => setTrial(await tryOn({ name, text, bearer, userId: user.id })));

  return (
    <>
      <p class="lead">
        <code>{name}</code> <span class="unit">{revision === null ? 'a new policy' : `revision ${revision}`}</span>
        {shared && <span class="unit">, shared by the installation: it can be tried and copied</span>}
      </p>
      <Editor text={text} change={setText} readOnly={shared} failure={failure} />
      <p class="actions">
        <button type="button" disabled={busy !== null} onClick={() => void attempt()}>
          {busy === 'try' ? 'Trying …' : 'Try on the last 50 results'}
        </button>
        {mayWrite && shared && (
          <AskFirst
            button="Copy under another name"
            kind="primary"
            title="Copy the policy"
            submit="Save the copy"
            work={async (values) => {
              const own = textIn(values, 'name').trim();
              await put(own);
              go(`/policies/${encodeURIComponent(own)}`);
            }}
          >
            <PolicyName label="Name of the copy" value={name.replace(SHARED, '')} />
          </AskFirst>
        )}
        {mayWrite && !shared && (
          <button type="button" class="primary" disabled={busy !== null} onClick={() => void save()}>
            {busy === 'save' ? 'Saving …' : 'Save'}
          </button>
        )}
        {mayWrite && !shared && revision !== null && <Remove name={name} bearer={bearer} />}
        <span role="status" class="said">
          {said}
        </span>
      </p>
      {trial && <Tried judged={trial} />}
    </>
  );
}

function PolicyPage({ name }: { name: string }) {
  const readThis = (bearer: string, signal: AbortSignal) => readPolicy(name, bearer, signal);
  return (
    <WithToken what="the policy" read={readThis}>
      {(saved, { text }) => <Open name={name} saved={saved} bearer={text} />}
    </WithToken>
  );
}

export const OwnPolicy = ({ params }: { params: Record<string, string> }) => <PolicyPage name={params['name']!} />;
export const SharedPolicy = ({ params }: { params: Record<string, string> }) => (
  <PolicyPage name={`${SHARED}${params['name']!}`} />
);

// What a policy says of the last results on record, before it is saved.

const LAST = 50;
const DAYS_MS = 30 * 86_400_000;

type LogRow = Answer<'GET media/log'>['log'][number];
type Judged = PolicyEvaluation['results'][number] & { row: LogRow };

interface TryOn {
  name: string;
  text: string;
  bearer: string;
  userId: number;
}

async function tryOn({ name, text, bearer, userId }: TryOn): Promise<Judged[]> {
  const { log } = await call('GET media/log', {
    query: {
      send: { from: new Date(Date.now() - DAYS_MS).toISOString() },
      'user-id': [userId],
      // A comparison has no report to judge.
      type: KINDS.filter((kind) => kind !== 'compare'),
      status: ['success', 'with-errors'],
      pagination: { page: 1, limit: LAST },
    },
  });
  // Without results the policy is still read, and what is wrong with it is said.
  const ids = log.length > 0 ? log.map(({ id }) => id) : ['00000000-0000-7000-8000-000000000000'];
  const { results } = await asToken(
    call('POST /v1/policy/:name/evaluate', {
      params: { name: name.replace('shared/', '') },
      body: { request_ids: ids, policy: text },
      bearer,
    }),
  );
  const rows = new Map(log.map((row) => [row.id, row]));
  return results.flatMap((result) => {
    const row = rows.get(result.request_id);
    return row ? [{ ...result, row }] : [];
  });
}

const TOLD = 3;

function Rules({ judged: { policy } }: { judged: Judged }) {
  const found = policy.rules.filter(({ outcome }) => outcome !== 'pass' && outcome !== 'not-applicable');
  return (
    <>
      {found.slice(0, TOLD).map(({ name, message }) => (
        <div key={name}>
          <Stranger text={name} most={60} />: <Stranger text={message} most={160} />
        </div>
      ))}
      {found.length > TOLD && <span class="unit">and {several(found.length - TOLD, 'further rule')}</span>}
    </>
  );
}

const TRIED: readonly Column<Judged>[] = [
  statusColumn('Outcome', ({ policy }) => policy.outcome),
  strangerColumn('Address', ({ row: { id, url } }) => (url === '' ? id : url), {
    most: 80,
    to: ({ row }) => hrefOf(`/requests/${row.id}`),
  }),
  {
    title: 'Rules that do not pass',
    show: (judged) => <Rules judged={judged} />,
    text: ({ policy }) => policy.rules.map(({ name, outcome }) => `${name}: ${outcome}`).join('; '),
  },
];

function Tried({ judged }: { judged: readonly Judged[] }) {
  if (judged.length === 0)
    return (
      <Empty title="There is no result to try it on">
        <p>The policy can be read. Results of the last 30 days are judged here once there are some.</p>
      </Empty>
    );
  const groups = byOutcome(judged, ({ policy }) => policy.outcome);
  const rows = groups.flatMap(([, some]) => some);
  return (
    <section>
      <h2>On the last {several(judged.length, 'result')}</h2>
      <p role="status">{groups.map(([outcome, some]) => `${some.length} ${outcome}`).join(', ')}</p>
      <Table caption="Results" columns={TRIED} rows={rows} keyOf={({ request_id: id }) => id} />
    </section>
  );
}

// A text field for policies: names of fields are completed, and what the API refuses is shown at its place.

interface EditorProps {
  text: string;
  change: (text: string) => void;
  readOnly: boolean;
  failure: Failure | null;
}

/** Names for the word at the caret, the keys that choose one of them, and what writes it into the text. */
function useCompletion({ text, change }: Pick<EditorProps, 'text' | 'change'>) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [completion, setCompletion] = useState<Completion | null>(null);
  const [at, setAt] = useState(0);
  /** Where the caret goes once the text is drawn. */
  const caret = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (caret.current === null) return;
    area.current?.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  }, [text]);

  const close = (): void => setCompletion(null);
  const complete = (name: string): void => {
    const { from, to } = completion!;
    caret.current = from + name.length;
    close();
    change(`${text.slice(0, from)}${name}${text.slice(to)}`);
    area.current?.focus();
  };
  const press = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    if (!completion) return;
    const last = completion.names.length - 1;
    const keys: Record<string, () => void> = {
      ArrowDown: () => setAt(at === last ? 0 : at + 1),
      ArrowUp: () => setAt(at === 0 ? last : at - 1),
      Enter: () => complete(completion.names[at]!),
      Escape: close,
    };
    const work = keys[event.key];
    if (!work) return;
    event.preventDefault();
    work();
  };
  const type = ({ value, selectionStart }: HTMLTextAreaElement): void => {
    change(value);
    setCompletion(completionAt(value, selectionStart, POLICY_FIELDS));
    setAt(0);
  };
  return { area, names: completion?.names ?? null, at, complete, press, type, close };
}

function Editor({ text, change, readOnly, failure }: EditorProps) {
  const id = useId();
  const { area, names, at, complete, press, type, close } = useCompletion({ text, change });
  const place = failure?.field ? placeOf(text, failure.field) : null;
  useEffect(() => {
    if (!place || !area.current) return;
    area.current.focus();
    area.current.setSelectionRange(place.from, place.to);
  }, [failure]);
  return (
    <div class="field editor">
      <label for={id}>The policy as YAML or JSON</label>
      <textarea
        id={id}
        ref={area}
        value={text}
        rows={Math.min(24, Math.max(10, text.split('\n').length + 1))}
        readOnly={readOnly}
        spellcheck={false}
        autoComplete="off"
        aria-invalid={failure !== null}
        aria-describedby={failure ? `${id}-wrong` : `${id}-help`}
        aria-autocomplete="list"
        aria-controls={names ? `${id}-names` : undefined}
        aria-activedescendant={names ? `${id}-${at}` : undefined}
        onInput={(event) => type(event.currentTarget)}
        onKeyDown={press}
        onBlur={close}
      />
      {names && (
        <ul id={`${id}-names`} role="listbox" aria-label="Fields" class="names">
          {names.map((name, index) => (
            <li
              key={name}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              // The text keeps the focus.
              onMouseDown={(event) => {
                event.preventDefault();
                complete(name);
              }}
            >
              {name}
            </li>
          ))}
        </ul>
      )}
      {failure && (
        <p class="wrong" role="alert" id={`${id}-wrong`}>
          {place && `Line ${place.line}: `}
          {failure.text}
        </p>
      )}
      <p class="help" id={`${id}-help`}>
        After <code>field:</code> names are completed: arrows choose, Enter takes one, Escape closes the list.
      </p>
    </div>
  );
}
