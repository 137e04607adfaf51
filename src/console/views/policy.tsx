/** One policy: read, changed, tried on what is on record, saved. */
import { useState } from 'preact/hooks';
import { call, isFailure } from '../api/client.ts';
import { asToken } from '../api/gateway.ts';
import type { SavedPolicy } from '../../api_types.ts';
import { useWork } from '../api/use_call.ts';
import { AskFirst } from '../parts/dialog.tsx';
import { textIn } from '../parts/form.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { Editor } from '../policies/editor.tsx';
import { policyText } from '../policies/text.ts';
import { type Judged, Tried, tryOn } from '../policies/trial.tsx';
import { go } from '../router.ts';
import { may, useUser } from '../session.ts';
import { PolicyName } from './policies.tsx';

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

interface OpenProps {
  name: string;
  saved: SavedPolicy | null;
  bearer: string;
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

function Open({ name, saved, bearer }: OpenProps) {
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
  const read = (bearer: string, signal: AbortSignal) => readPolicy(name, bearer, signal);
  return (
    <WithToken what="the policy" read={read}>
      {(saved, { text }) => <Open name={name} saved={saved} bearer={text} />}
    </WithToken>
  );
}

export const OwnPolicy = ({ params }: { params: Record<string, string> }) => <PolicyPage name={params['name']!} />;
export const SharedPolicy = ({ params }: { params: Record<string, string> }) => (
  <PolicyPage name={`${SHARED}${params['name']!}`} />
);
