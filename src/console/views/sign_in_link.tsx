/**
 * A link that signs the first administrator in, once. Its code stands behind #, leaves the address when it is read, and
 * is sent by a button alone: programs that look at links do not use them up.
 */
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { useCell } from '../cell.ts';
import { Form } from '../parts/form.tsx';
import { Stranger } from '../parts/values.tsx';
import { go, hrefOf, usePlace } from '../router.ts';
import { readSession, session } from '../session.ts';
import { goToFirstProbe } from './start.tsx';

export function SignInLink() {
  const { path, hash } = usePlace();
  const [code] = useState(hash);
  const { user } = useCell(session);
  useEffect(() => go(path, undefined, true), []);
  return (
    <>
      {user && (
        <p>
          You are signed in as <Stranger text={user.email} />. The link signs you in as the first administrator instead.
        </p>
      )}
      {code === '' ? (
        <p>What stands behind # in the link is missing. Open the whole link once more.</p>
      ) : (
        <Form
          submit="Sign in"
          work={async () => {
            await call('POST auth/sign-in/link', { body: { code } });
            await readSession();
            await goToFirstProbe();
          }}
        />
      )}
      <p class="help">
        A link works once, for an hour. <a href="/docs/accounts#sign-in-links">How to make another one</a>
      </p>
      <p>
        <a href={hrefOf('/sign-in')}>Sign in with a password</a>
      </p>
    </>
  );
}
