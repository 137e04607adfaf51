/** Accounts below the caller's, for an administrator everybody's; and one user: limits, head-room, labels, status. */
import { call } from '../api/client.ts';
import type { AccountLabels, ListedUser, User, UserLimits } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import { AskFirst } from '../parts/dialog.tsx';
import { Field, textsIn, Form, numberIn, textIn, WorkButton } from '../parts/form.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { Stranger, Status, Time } from '../parts/values.tsx';
import { type Column, Table, useListing, statusColumn, strangerColumn, timeColumn, Facts } from '../parts/table.tsx';
import { may, useUser } from '../session.ts';
import { choices, FilterChoice, FilterText, oneOf } from '../parts/filters.tsx';
import { usePlace, hrefOf } from '../router.ts';
import { count } from '../parts/figures.ts';
import { Room, Rooms } from './head_room.tsx';
import { LimitFields, limitsIn } from './token_fields.tsx';

const columnsOf = (all: boolean): readonly Column<ListedUser>[] => [
  { title: 'Id', text: ({ id }) => String(id), sort: 'id', right: true },
  strangerColumn('E-mail address', ({ email }) => email, {
    to: ({ id }) => (all ? hrefOf(`/all-users/${id}`) : undefined),
    sort: 'email',
  }),
  { title: 'Role', text: ({ role }) => role },
  statusColumn('Status', ({ status }) => status, { sort: 'status' }),
  timeColumn('Created', ({ created }) => created, { sort: 'created' }),
];

const STATUSES = ['active', 'suspended', 'pending', 'anonymous'] as const;

/** `all`: of the installation, to find one, and to see who may do anything at all. */
function Users({ all }: { all: boolean }) {
  const user = useUser();
  const { query } = usePlace();
  const listing = useListing(['id', 'email', 'status', 'created'], 'id', 'asc');
  const filter = all ? { email: query.get('email'), status: oneOf(query.get('status'), STATUSES) } : {};
  const asked = useCall('GET user', { query: { ...listing, ...filter } });
  return (
    <>
      {all && (
        <search class="filters">
          <FilterText name="email" label="E-mail address" placeholder="part of it" />
          <FilterChoice name="status" label="Status" values={choices(STATUSES, 'all')} />
        </search>
      )}
      {may(user, 'write:sub-user') && (
        <p class="actions">
          <AskFirst
            button="Add a sub-user"
            kind={all ? undefined : 'primary'}
            title="Add a sub-user"
            submit="Add the sub-user"
            work={async (values) => {
              await call('POST user/current', { body: textsIn(values, 'email', 'first-name', 'last-name') });
              asked.again();
            }}
          >
            <p>The new user gets a mail, and chooses a password. Their requests count to your account.</p>
            <Field name="email" label="E-mail address" type="email" required />
            <Field name="first-name" label="First name" maxLength={100} />
            <Field name="last-name" label="Last name" maxLength={100} />
          </AskFirst>
        </p>
      )}
      <Await asked={asked} what="the users">
        {({ users, ...echo }) =>
          echo.pagination.total === 0 ? (
            <Empty title={all ? 'No user fits' : 'There are no sub-users'}>
              <p>
                {all
                  ? 'Shorten the part of the address, or take the status away.'
                  : 'A sub-user signs in on their own, and works within the limits of your account.'}
              </p>
            </Empty>
          ) : (
            <Table caption="Users" columns={columnsOf(all)} rows={users} keyOf={({ id }) => id} echo={echo} />
          )
        }
      </Await>
    </>
  );
}

export const SubUsers = () => <Users all={false} />;
export const AllUsers = () => <Users all />;

// One user, for administrators: limits, head-room and labels, and whether they may do anything at all.

const UserLink = ({ id, email }: { id: number; email?: string }) => (
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

type Labels = AccountLabels['labels'];

const LONGEST_VALUE = 63;

const pairsOf = (labels: Labels): string =>
  Object.entries(labels)
    .map((pair) => pair.join('='))
    .toSorted()
    .join(', ');

/** What differs from the labels as they were read: what others changed meanwhile stays. */
const changedIn = (values: FormData, labels: Labels): Labels =>
  Object.fromEntries(
    Object.entries(labels).flatMap(([name, before]) => {
      const value = textIn(values, `labels.${name}`).trim();
      return value === before ? [] : [[name, value]];
    }),
  );

interface LabelsFormProps {
  labels: Labels;
  change: (labels: Record<string, string | null>) => Promise<void>;
}

function LabelsForm({ labels, change }: LabelsFormProps) {
  const names = Object.keys(labels).toSorted();
  return (
    <>
      {names.length > 0 && (
        <Form submit="Save the labels" done="Saved" work={(values) => change(changedIn(values, labels))}>
          <p class="help">For whom the account is charged.</p>
          {names.map((name) => (
            <div key={name}>
              <Field name={`labels.${name}`} label={name} value={labels[name]} maxLength={LONGEST_VALUE} />
              <p class="actions">
                <WorkButton work={() => change({ [name]: null })}>{`Remove ${name}`}</WorkButton>
              </p>
            </div>
          ))}
        </Form>
      )}
      <p class="actions">
        <AskFirst
          button="Add a label"
          title="Add a label"
          work={(values) => change({ [textIn(values, 'labels').trim()]: textIn(values, 'value').trim() })}
        >
          <p>Labels outlive the account in the chargeback: they must not name a person.</p>
          <Field name="labels" label="Name" placeholder="cost-centre" required />
          <Field name="value" label="Value" placeholder="4711" maxLength={LONGEST_VALUE} />
        </AskFirst>
      </p>
    </>
  );
}

/** Of the account: the page of its root user is where they are changed. */
function LabelsOfUser({ user, mayChange }: { user: User; mayChange: boolean }) {
  const params = { id: user['root-user-id'] };
  const asked = useCall('GET user/:id/labels', { params });
  const change: LabelsFormProps['change'] = async (labels) => {
    await call('PUT user/:id/labels', { params, body: { labels } });
    asked.again();
  };
  return (
    <section>
      <h2>Labels of the account</h2>
      <Await asked={asked} what="the labels">
        {({ labels }) =>
          mayChange && params.id === user.id ? (
            <LabelsForm labels={labels} change={change} />
          ) : (
            <p>{pairsOf(labels) || 'It has none.'}</p>
          )
        }
      </Await>
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
          <LabelsOfUser user={shown} mayChange={mayChange} />
        </>
      )}
    </Await>
  );
}
