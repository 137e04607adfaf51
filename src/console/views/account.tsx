/** The caller's own account: names, password, sessions. */
import { call } from '../api/client.ts';
import type { Session, User } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import { strangerColumn, timeColumn, Facts, Table, type Column } from '../parts/table.tsx';
import { AskFirst } from '../parts/dialog.tsx';
import { Check, Field, Form, isChecked, NewPassword, textsIn } from '../parts/form.tsx';
import { Await } from '../parts/states.tsx';
import { Stranger, Time } from '../parts/values.tsx';
import { may, readSession, signOut, useUser } from '../session.ts';

function Names({ user }: { user: User }) {
  const [first, last] = [user['first-name'], user['last-name']];
  return (
    <section>
      <h2>Profile</h2>
      <Facts
        facts={[
          ['E-mail address', user.email],
          ['Role', user.role],
          ['Sub-user of', user.parent?.email],
          ['Member since', <Time iso={user.created} />],
        ]}
      />
      {may(user, 'write:user') && (
        <Form
          submit="Save names"
          done="Saved"
          work={async (values) => {
            await call('PUT user/current', { body: textsIn(values, 'first-name', 'last-name') });
            await readSession();
          }}
        >
          <Field name="first-name" label="First name" value={first} autoComplete="given-name" maxLength={100} />
          <Field name="last-name" label="Last name" value={last} autoComplete="family-name" maxLength={100} />
        </Form>
      )}
    </section>
  );
}

function Password({ email }: { email: string }) {
  return (
    <section>
      <h2>Password</h2>
      <Form
        submit="Change the password"
        done="Changed"
        work={async (values) => {
          const all = isChecked(values, 'logout-all');
          const passwords = textsIn(values, 'old-password', 'new-password');
          await call('PUT auth/current/password', { body: { ...passwords, 'logout-all': all } });
          if (all) await readSession();
        }}
      >
        <input type="hidden" name="username" autoComplete="username" value={email} />
        <Field name="old-password" label="Present password" type="password" autoComplete="current-password" required />
        <NewPassword name="new-password" />
        <Check name="logout-all" label="End all sessions, this one too" />
      </Form>
    </section>
  );
}

function Sessions() {
  const asked = useCall('GET auth/session');
  const columns: readonly Column<Session>[] = [
    timeColumn('Signed in', ({ created }) => created),
    timeColumn('Ends', ({ expire }) => expire),
    strangerColumn('Address', (row) => row['remote-ip']),
    { title: 'Kind', text: (row) => row['ua-type'] },
    strangerColumn('Program', (row) => row['user-agent'], { most: 60 }),
    {
      title: 'End',
      show: ({ id, created, 'remote-ip': address }) => (
        <AskFirst
          button="End"
          label={`End the session of ${created}`}
          kind="small"
          title="End this session?"
          submit="End the session"
          danger
          work={async () => {
            await call('DELETE auth/session/:id', { params: { id } });
            asked.again();
          }}
        >
          <p>
            It was opened on <Time iso={created} /> from <Stranger text={address} />.
          </p>
        </AskFirst>
      ),
      text: () => '',
    },
  ];
  return (
    <section>
      <h2>Sessions</h2>
      <Await asked={asked} what="the sessions">
        {({ sessions }) => (
          <>
            <Table caption="Sessions" columns={columns} rows={sessions} keyOf={({ id }) => id} />
            <p class="actions">
              <AskFirst button="Sign out everywhere" danger work={() => signOut(true)}>
                <p>Every session ends, this one too. API tokens stay valid.</p>
              </AskFirst>
            </p>
          </>
        )}
      </Await>
    </section>
  );
}

export function Account() {
  const user = useUser();
  const { data: ways } = useCall('GET auth/sso');
  return (
    <>
      <Names user={user} />
      {ways?.passwords && <Password email={user.email} />}
      <Sessions />
    </>
  );
}
