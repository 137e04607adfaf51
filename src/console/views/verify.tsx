/** The code of a mail makes an account active. It stands behind # in the link, and is sent only when this is. */
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { Field, Form, textIn } from '../parts/form.tsx';
import { NewPassword } from '../parts/new_password.tsx';
import { Empty } from '../parts/states.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { hrefOf, usePlace } from '../router.ts';

export function Verify() {
  const { hash } = usePlace();
  const [email, setEmail] = useState<string | null>(null);
  if (email !== null)
    return (
      <Empty title="The account is active">
        <p>
          <Stranger text={email} /> is confirmed.
        </p>
        <a href={hrefOf('/sign-in')}>Sign in</a>
      </Empty>
    );
  return (
    <Form
      submit="Confirm the address"
      work={async (values) => {
        const password = textIn(values, 'password');
        const answer = await call('POST auth/verify', {
          body: { 'verify-token': textIn(values, 'verify-token').trim(), ...(password === '' ? {} : { password }) },
        });
        setEmail(answer.email);
      }}
    >
      <Field name="verify-token" label="Code from the mail" value={hash} autoComplete="off" required />
      <NewPassword
        name="password"
        label="New password (optional)"
        help="If somebody else may have chosen the password at the sign-up, choose your own"
        required={false}
      />
    </Form>
  );
}
