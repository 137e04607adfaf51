/** A new account: pending until the mail is confirmed. */
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { Field, Form, textIn } from '../parts/form.tsx';
import { NewPassword } from '../parts/new_password.tsx';
import { Empty } from '../parts/states.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { hrefOf } from '../router.ts';

export function SignUp() {
  const [sentTo, setSentTo] = useState<string | null>(null);
  if (sentTo !== null)
    return (
      <Empty title="Look into your mail">
        <p>
          A mail is on its way to <Stranger text={sentTo} />. Its link makes the account active; it is valid for a day.
        </p>
        <a href={hrefOf('/verify')}>Enter the code from the mail</a>
      </Empty>
    );
  return (
    <>
      <Form
        submit="Sign up"
        work={async (values) => {
          const email = textIn(values, 'email');
          await call('POST auth/sign-up', {
            body: {
              email,
              password: textIn(values, 'password'),
              'first-name': textIn(values, 'first-name'),
              'last-name': textIn(values, 'last-name'),
            },
          });
          setSentTo(email);
        }}
      >
        <Field name="email" label="E-mail address" type="email" autoComplete="username" required />
        <NewPassword name="password" label="Password" />
        <Field name="first-name" label="First name" autoComplete="given-name" maxLength={100} />
        <Field name="last-name" label="Last name" autoComplete="family-name" maxLength={100} />
      </Form>
      <p>
        <a href={hrefOf('/sign-in')}>Sign in to an account that exists</a>
      </p>
    </>
  );
}
