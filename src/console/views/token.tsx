/** One token: its text, its limits, its webhook secret, its end. */
import { useState } from 'preact/hooks';
import { call, type Given } from '../api/client.ts';
import type { ApiToken } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import { useCell } from '../cell.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Form } from '../parts/form.tsx';
import { Secret } from '../parts/copy.tsx';
import { Await } from '../parts/states.tsx';
import { Facts } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { go, hrefOf } from '../router.ts';
import { may, session } from '../session.ts';
import { settingsIn, TokenFields } from './token_fields.tsx';

type Change = NonNullable<Given<'PUT auth/api-token/:id'>['body']>;
type Question = 'rotate' | 'rotate-secret' | 'revoke';

interface QuestionProps {
  question: Question;
  close: () => void;
  work: (question: Question) => Promise<void>;
}

const QUESTIONS: Record<Question, { title: string; submit: string; text: string }> = {
  rotate: {
    title: 'Replace the token?',
    submit: 'Replace the token',
    text: 'The old one stops working at once, with the tokens and JWTs that were made with it.',
  },
  'rotate-secret': {
    title: 'Replace the webhook secret?',
    submit: 'Replace the secret',
    text: 'Deliveries from now on are signed with the new secret, those that are being tried again too.',
  },
  revoke: {
    title: 'Revoke the token?',
    submit: 'Revoke the token',
    text: 'It stops working at once and for good. Its requests stay in the log.',
  },
};

function Ask({ question, close, work }: QuestionProps) {
  const { title, submit, text } = QUESTIONS[question];
  return (
    <Dialog title={title} close={close}>
      <p>{text}</p>
      <Form submit={submit} danger work={() => work(question)} />
    </Dialog>
  );
}

function Shown({ token: read }: { token: ApiToken }) {
  const { user } = useCell(session);
  const [question, setQuestion] = useState<Question | null>(null);
  /** As the last change answered: the only time that a replaced token is told where tokens are not viewable. */
  const [changed, setChanged] = useState<ApiToken | null>(null);
  const token = changed ?? read;
  const own = user?.id === token['user-id'];
  const mayChange = user !== null && may(user, 'write:user');

  const change = async (body: Change): Promise<void> => {
    setChanged(await call('PUT auth/api-token/:id', { params: { id: token.id }, body }));
  };
  const work = async (asked: Question): Promise<void> => {
    if (asked === 'revoke') {
      await call('DELETE auth/api-token/:id', { params: { id: token.id } });
      return go('/tokens');
    }
    await change(asked === 'rotate' ? { rotate: true } : { 'rotate-webhook-secret': true });
    setQuestion(null);
  };

  return (
    <>
      <p>
        <a href={hrefOf('/tokens')}>All tokens</a>
      </p>
      <Facts
        facts={[
          ['Id', token.id],
          ['Name', token.name === '' ? 'without a name' : token.name],
          ['Token', own && <Secret label="Token" text={token.token} />],
          ['Webhook secret', own && <Secret label="Secret" text={token['webhook-secret']} />],
          ['Permissions', <>{token.permissions?.join(', ') ?? 'all of its user'}</>],
          ['Ends', token.expires === undefined ? 'never' : <Time iso={token.expires} />],
          ['Created', <Time iso={token.created} />],
          ['Changed', <Time iso={token.updated} />],
        ]}
      />
      {mayChange && (
        <>
          <p class="actions">
            {own && (
              <button type="button" onClick={() => setQuestion('rotate')}>
                Replace the token
              </button>
            )}
            {own && (
              <button type="button" onClick={() => setQuestion('rotate-secret')}>
                Replace the webhook secret
              </button>
            )}
            {!token.default && (
              <button type="button" class="danger" onClick={() => setQuestion('revoke')}>
                Revoke the token
              </button>
            )}
          </p>
          <section>
            <h2>Settings</h2>
            <Form submit="Save" done="Saved" work={(values) => change(settingsIn(values))}>
              <TokenFields token={token} />
            </Form>
          </section>
        </>
      )}
      {question && <Ask question={question} close={() => setQuestion(null)} work={work} />}
    </>
  );
}

export function Token({ params }: { params: Record<string, string> }) {
  const asked = useCall('GET auth/api-token/:id', { params: { id: params['id']! } });
  return (
    <Await asked={asked} what="the token">
      {(token) => <Shown token={token} />}
    </Await>
  );
}
