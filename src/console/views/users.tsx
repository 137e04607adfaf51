/** Accounts below the caller's; for an administrator everybody's. */
import { call } from '../api/client.ts';
import type { ListedUser } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import { AskFirst } from '../parts/dialog.tsx';
import { Field, textsIn } from '../parts/form.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { Stranger, Status } from '../parts/values.tsx';
import { type Column, Table, useListing, timeColumn } from '../parts/table.tsx';
import { may, useUser } from '../session.ts';
import { choices, FilterChoice, FilterText, oneOf } from '../parts/filters.tsx';
import { usePlace } from '../router.ts';
import { UserLink } from './user.tsx';

const columnsOf = (all: boolean): readonly Column<ListedUser>[] => [
  { title: 'Id', text: ({ id }) => String(id), sort: 'id', right: true },
  {
    title: 'E-mail address',
    show: ({ id, email }) => (all ? <UserLink id={id} email={email} /> : <Stranger text={email} />),
    text: ({ email }) => email,
    sort: 'email',
  },
  { title: 'Role', text: ({ role }) => role },
  {
    title: 'Status',
    show: ({ status }) => (all ? <Status of={status} /> : status),
    text: ({ status }) => status,
    sort: 'status',
  },
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
