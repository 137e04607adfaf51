/** A forgotten password, and the first one of an invited user. */
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { Field, Form, textIn } from '../parts/form.tsx';
import { NewPassword } from '../parts/new_password.tsx';
import { Empty } from '../parts/states.tsx';
import { hrefOf, usePlace } from '../router.ts';

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
