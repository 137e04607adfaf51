/** All users, for administrators: find one, and see who may do anything at all. */
import { useState } from 'preact/hooks';
import type { ListedUser } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import { useCell } from '../cell.ts';
import { FilterChoice, FilterText, oneOf } from '../parts/filters.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { Status } from '../parts/status.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { Table, useListing, type Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOf, usePlace } from '../router.ts';
import { may, session } from '../session.ts';
import { Invite } from './sub_users.tsx';

const STATUSES = ['active', 'suspended', 'pending', 'anonymous'] as const;
const SHOWN_STATUSES = [['', 'all'], ...STATUSES.map((status) => [status, status] as const)] as const;

const COLUMNS: readonly Column<ListedUser>[] = [
  { title: 'Id', show: ({ id }) => id, text: ({ id }) => String(id), sort: 'id', right: true },
  {
    title: 'E-mail address',
    show: ({ id, email }) => (
      <a href={hrefOf(`/all-users/${id}`)}>
        <Stranger text={email} />
      </a>
    ),
    text: ({ email }) => email,
    sort: 'email',
  },
  { title: 'Role', show: ({ role }) => role, text: ({ role }) => role },
  { title: 'Status', show: ({ status }) => <Status of={status} />, text: ({ status }) => status, sort: 'status' },
  { title: 'Created', show: ({ created }) => <Time iso={created} />, text: ({ created }) => created, sort: 'created' },
];

export function AllUsers() {
  const { user } = useCell(session);
  const { query } = usePlace();
  const [inviting, setInviting] = useState(false);
  const listing = useListing(['id', 'email', 'status', 'created'], 'id', 'asc');
  const asked = useCall('GET user', {
    query: { ...listing, email: query.get('email'), status: oneOf(query.get('status'), STATUSES) },
  });
  return (
    <>
      <search class="filters">
        <FilterText name="email" label="E-mail address" placeholder="part of it" />
        <FilterChoice name="status" label="Status" values={SHOWN_STATUSES} />
      </search>
      {user !== null && may(user, 'write:sub-user') && (
        <p class="actions">
          <button type="button" onClick={() => setInviting(true)}>
            Add a sub-user
          </button>
        </p>
      )}
      <Await asked={asked} what="the users">
        {({ users, ...echo }) =>
          echo.pagination.total === 0 ? (
            <Empty title="No user fits">
              <p>Shorten the part of the address, or take the status away.</p>
            </Empty>
          ) : (
            <Table caption="Users" columns={COLUMNS} rows={users} keyOf={({ id }) => id} echo={echo} />
          )
        }
      </Await>
      {inviting && <Invite close={() => setInviting(false)} done={asked.again} />}
    </>
  );
}
