/** One token: its text, its limits, its webhook secret, its end. */
import { useState } from 'preact/hooks';
import { call, type Given } from '../api/client.ts';
import type { ApiToken } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import { AskFirst } from '../parts/dialog.tsx';
import { Form } from '../parts/form.tsx';
import { Secret } from '../parts/copy.tsx';
import { Await } from '../parts/states.tsx';
import { Facts } from '../parts/table.tsx';
import { Time } from '../parts/values.tsx';
import { go } from '../router.ts';
import { may, useUser } from '../session.ts';
import { settingsIn, TokenFields } from './token_fields.tsx';

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
