/** One user, for administrators: limits and head-room, and whether they may do anything at all. */
import { call } from '../api/client.ts';
import type { User, UserLimits } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import { AskFirst } from '../parts/dialog.tsx';
import { count } from '../parts/figures.ts';
import { Field, Form, numberIn } from '../parts/form.tsx';
import { Await } from '../parts/states.tsx';
import { Status, Stranger, Time } from '../parts/values.tsx';
import { Facts } from '../parts/table.tsx';
import { hrefOf } from '../router.ts';
import { may, useUser } from '../session.ts';
import { Room, Rooms } from './head_room.tsx';
import { LimitFields, limitsIn } from './token_fields.tsx';

export const UserLink = ({ id, email }: { id: number; email?: string }) => (
  <a href={hrefOf(`/all-users/${id}`)}>{email === undefined ? id : <Stranger text={email} />}</a>
);

function UserFacts({ user }: { user: User }) {
  const { id, email, role, status, parent, created } = user;
  const root = user['root-user-id'];
  return (
    <Facts
      facts={[
        ['Id', id],
        ['E-mail address', email],
        ['Name', `${user['first-name']} ${user['last-name']}`.trim()],
        ['Role', role],
        ['Status', <Status of={status} />],
        ['Sub-user of', parent && <UserLink id={parent.id} email={parent.email} />],
        ['Account', root !== id && root !== parent?.id && <UserLink id={root} />],
        ['Created', <Time iso={created} />],
      ]}
    />
  );
}

function Suspend({ user, done }: { user: User; done: () => void }) {
  const isActive = user.status === 'active';
  return (
    <AskFirst
      button={isActive ? 'Suspend the user' : 'Reactivate the user'}
      kind={isActive ? 'danger' : undefined}
      danger={isActive}
      work={async () => {
        const body = { status: isActive ? ('suspended' as const) : ('active' as const) };
        await call('PUT user/:id/status', { params: { id: user.id }, body });
        done();
      }}
    >
      <p>
        <Stranger text={user.email} />
      </p>
      <p>
        {isActive
          ? 'They and all accounts below them can neither sign in nor call the API, and their queued requests end. ' +
            'Nothing of theirs is deleted.'
          : 'They and the accounts below them can sign in and call the API again.'}
      </p>
    </AskFirst>
  );
}

/** Jobs that the account runs now, as the leader knows them; nothing where it has not said. */
function RunningNow({ account, limit }: { account: number; limit: number | null }) {
  const { data } = useCall('GET cluster');
  if (!data || data.stale) return null;
  const own = data.queue.accounts.find((one) => one.account === account);
  // With rows left out, an account that is not among them may be one of those.
  if (!own && data['left-out'].accounts > 0) return null;
  return <Room label="Jobs of the account that run now" used={own?.running ?? 0} limit={limit} figure={count} />;
}

function HeadRoomOfUser({ user, limits }: { user: User; limits: UserLimits }) {
  const inForce = limits['in-force'];
  return (
    <section>
      <h2>Head-room</h2>
      <Rooms whose={{ 'user-id': [user.id] }} own={limits} inForce={inForce}>
        <RunningNow account={user['root-user-id']} limit={inForce['account-concurrency'] ?? null} />
      </Rooms>
    </section>
  );
}

function LimitsForm({ user, limits, done }: { user: User; limits: UserLimits; done: () => void }) {
  const isRoot = user['root-user-id'] === user.id;
  const ofAccount = limits['in-force']['account-concurrency'];
  return (
    <section>
      <h2>Settings</h2>
      <Form
        submit="Save the limits"
        done="Saved"
        work={async (values) => {
          const account = isRoot ? { 'account-concurrency': numberIn(values, 'account-concurrency') } : {};
          const body = { ...limitsIn(values), ...account };
          await call('PUT user/:id/limits', { params: { id: user.id }, body });
          done();
        }}
      >
        <LimitFields
          given={limits}
          inForce={limits['in-force']}
          help="Empty: those of the account above, or the installation's default."
        />
        {isRoot && (
          <Field
            name="account-concurrency"
            label="Requests of the account at once"
            type="number"
            min={0}
            value={limits['account-concurrency']}
            placeholder={ofAccount === undefined ? 'unlimited' : String(ofAccount)}
            help="With all sub-users and tokens. 0: unlimited."
          />
        )}
      </Form>
    </section>
  );
}

export function UserPage({ params }: { params: Record<string, string> }) {
  const viewer = useUser();
  const given = { params: { id: params['id']! } };
  const user = useCall('GET user/:id', given);
  const limits = useCall('GET user/:id/limits', given);
  const mayChange = may(viewer, 'write:admin');
  return (
    <Await asked={user} what="the user">
      {(shown) => (
        <>
          <UserFacts user={shown} />
          {mayChange && shown.id !== viewer.id && shown.role !== 'root' && (
            <p class="actions">
              <Suspend user={shown} done={user.again} />
            </p>
          )}
          <Await asked={limits} what="the limits">
            {(read) => (
              <>
                <HeadRoomOfUser user={shown} limits={read} />
                {mayChange && <LimitsForm user={shown} limits={read} done={limits.again} />}
              </>
            )}
          </Await>
        </>
      )}
    </Await>
  );
}
