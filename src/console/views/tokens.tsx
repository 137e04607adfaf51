/** API tokens: what programs use. All of the user, and one of them with its text, its limits, its secret, its end. */
import { useState } from 'preact/hooks';
import { call, type Given } from '../api/client.ts';
import type { ApiToken, ListedApiToken } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import {
  amountColumn,
  countColumn,
  strangerColumn,
  timeColumn,
  Table,
  useListing,
  type Column,
  Facts,
} from '../parts/table.tsx';
import { AskFirst } from '../parts/dialog.tsx';
import { bytes, milliseconds } from '../parts/figures.ts';
import { Secret } from '../parts/copy.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { Time } from '../parts/values.tsx';
import { hrefOf, go } from '../router.ts';
import { may, useUser } from '../session.ts';
import { settingsIn, TokenFields } from './token_fields.tsx';
import { Form } from '../parts/form.tsx';

const COLUMNS: readonly Column<ListedApiToken>[] = [
  { title: 'Id', text: ({ id }) => String(id), sort: 'id', right: true },
  strangerColumn('Name', ({ name }) => name, {
    most: 60,
    none: 'without a name',
    to: ({ id }) => hrefOf(`/tokens/${id}`),
    mark: ({ default: isDefault }) => isDefault && 'kubectl',
    sort: 'name',
  }),
  countColumn('Requests a minute', (row) => row['limits-in-force']['requests-per-minute']),
  countColumn('Requests at once', (row) => row['limits-in-force'].concurrency),
  amountColumn('Longest in the queue', (row) => row['limits-in-force']['queue-timeout'], milliseconds),
  amountColumn('Largest file', (row) => row['limits-in-force']['file-size'], bytes),
  { title: 'Permissions', text: ({ permissions }) => permissions?.join(', ') ?? 'all' },
  timeColumn('Ends', ({ expires }) => expires, { none: 'never' }),
  timeColumn('Created', ({ created }) => created, { sort: 'created' }),
];

/** Where tokens cannot be seen again, this is the only time. */
function Made({ token, close }: { token: ApiToken; close: () => void }) {
  return (
    <section class="notice made" role="status">
      <h2>The token is made</h2>
      <p>Copy it now: the operator may have decided that it is not shown again.</p>
      <Secret label="Token" text={token.token} />
      <p class="actions">
        <a href={hrefOf(`/tokens/${token.id}`)}>Its page</a>
        <button type="button" class="small" onClick={close}>
          Done
        </button>
      </p>
    </section>
  );
}

export function Tokens() {
  const user = useUser();
  const [made, setMade] = useState<ApiToken | null>(null);
  const listing = useListing(['id', 'name', 'created'], 'id', 'asc');
  const asked = useCall('GET auth/api-token', { query: listing });
  return (
    <>
      {may(user, 'write:user') && (
        <p class="actions">
          <AskFirst
            button="Make a token"
            kind="primary"
            title="Make a token"
            submit="Make the token"
            work={async (values) => {
              setMade(await call('POST auth/api-token', { body: settingsIn(values) }));
              asked.again();
            }}
          >
            <TokenFields />
          </AskFirst>
        </p>
      )}
      {made && <Made token={made} close={() => setMade(null)} />}
      <Await asked={asked} what="the tokens">
        {({ 'api-tokens': tokens, ...echo }) => (
          <Table caption="Tokens" columns={COLUMNS} rows={tokens} keyOf={({ id }) => id} echo={echo}>
            <Empty title="There are no tokens">
              <p>A token lets a program probe files in your name, within limits that you set. Make one to begin.</p>
            </Empty>
          </Table>
        )}
      </Await>
    </>
  );
}

// One token.

type Change = NonNullable<Given<'PUT auth/api-token/:id'>['body']>;

function Shown({ token: read }: { token: ApiToken }) {
  const user = useUser();
  /** As the last change answered: the only time that a replaced token is told where tokens are not viewable. */
  const [changed, setChanged] = useState<ApiToken | null>(null);
  const token = changed ?? read;
  const own = user.id === token['user-id'];
  const mayChange = may(user, 'write:user');
  const params = { id: token.id };
  const change = async (body: Change): Promise<void> =>
    setChanged(await call('PUT auth/api-token/:id', { params, body }));

  return (
    <>
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
              <>
                <AskFirst button="Replace the token" danger work={() => change({ rotate: true })}>
                  <p>The old one stops working at once, with the tokens and JWTs that were made with it.</p>
                </AskFirst>
                <AskFirst
                  button="Replace the webhook secret"
                  submit="Replace the secret"
                  danger
                  work={() => change({ 'rotate-webhook-secret': true })}
                >
                  <p>Deliveries from now on are signed with the new secret, those that are being tried again too.</p>
                </AskFirst>
              </>
            )}
            {!token.default && (
              <AskFirst
                button="Revoke the token"
                kind="danger"
                danger
                work={async () => {
                  await call('DELETE auth/api-token/:id', { params });
                  go('/tokens');
                }}
              >
                <p>It stops working at once and for good. Its requests stay in the log.</p>
              </AskFirst>
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
