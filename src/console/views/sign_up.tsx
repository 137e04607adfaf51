/** A new account: pending until the mail is confirmed. */
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { Field, Form, NewPassword, textIn, textsIn } from '../parts/form.tsx';
import { Empty } from '../parts/states.tsx';
import { Stranger } from '../parts/values.tsx';
import { hrefOf, usePlace } from '../router.ts';

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
          const body = textsIn(values, 'email', 'password', 'first-name', 'last-name');
          await call('POST auth/sign-up', { body });
          setSentTo(body.email);
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

// The code of a mail makes an account active. It stands behind # in the link, and is sent only when this is.

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

// A forgotten password, and the first one of an invited user.

function Choose({ code }: { code: string }) {
  const [done, setDone] = useState(false);
  if (done)
    return (
      <Empty title="The password is set">
        <p>All sessions of the account have ended.</p>
        <a href={hrefOf('/sign-in')}>Sign in</a>
      </Empty>
    );
  return (
    <Form
      submit="Set the password"
      work={async (values) => {
        await call('POST auth/reset/confirm', {
          body: { 'reset-token': textIn(values, 'reset-token').trim(), 'new-password': textIn(values, 'new-password') },
        });
        setDone(true);
      }}
    >
      <Field name="reset-token" label="Code from the mail" value={code} autoComplete="off" required />
      <NewPassword name="new-password" />
    </Form>
  );
}

export function Reset() {
  const { hash } = usePlace();
  const [asked, setAsked] = useState(false);
  if (hash !== '' || asked)
    return (
      <>
        {asked && <p role="status">If the address has an account, a mail with a code is on its way.</p>}
        <Choose code={hash} />
      </>
    );
  return (
    <>
      <p>A mail with a code goes to the address of your account. The code is valid for an hour.</p>
      <Form
        submit="Send the mail"
        work={async (values) => {
          await call('POST auth/reset', { body: { email: textIn(values, 'email') } });
          setAsked(true);
        }}
      >
        <Field name="email" label="E-mail address" type="email" autoComplete="username" required />
      </Form>
      <button type="button" class="link" onClick={() => setAsked(true)}>
        I have a code already
      </button>
    </>
  );
}
