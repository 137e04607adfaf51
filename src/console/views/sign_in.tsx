/** Sign-in: on its own page, and in front of a page whose session has ended. */
import { useEffect } from 'preact/hooks';
import { call } from '../api/client.ts';
import { useCell } from '../cell.ts';
import { Check, Field, Form, isChecked, textsIn } from '../parts/form.tsx';
import { go, hrefOf, usePlace } from '../router.ts';
import { readSession, session } from '../session.ts';

export function SignInForm({ email }: { email?: string }) {
  return (
    <Form
      submit="Sign in"
      work={async (values) => {
        // The answer holds a token and a JWT: neither is kept. The cookie is enough.
        await call('POST auth/sign-in', {
          body: { ...textsIn(values, 'email', 'password'), 'long-term-token': isChecked(values, 'long') },
        });
        await readSession();
      }}
    >
      <Field name="email" label="E-mail address" type="email" autoComplete="username" required value={email} />
      <Field name="password" label="Password" type="password" autoComplete="current-password" required />
      <Check name="long" label="Stay signed in for two weeks" checked />
    </Form>
  );
}

export function SignIn() {
  const { query } = usePlace();
  const { state } = useCell(session);
  useEffect(() => {
    if (state !== 'signed-in') return;
    // Always below /app: no address of another site can stand here.
    const [path = '/', search = ''] = (query.get('to') ?? '/').split('?', 2);
    go(path.startsWith('/') ? path : '/', new URLSearchParams(search), true);
  }, [state]);
  return (
    <>
      <SignInForm />
      <ul class="ways">
        <li>
          <a href={hrefOf('/reset')}>Forgotten password</a>
        </li>
        <li>
          <a href={hrefOf('/sign-up')}>Sign up</a>
        </li>
        <li>
          <a href="/docs/">Documentation</a>
        </li>
      </ul>
    </>
  );
}
