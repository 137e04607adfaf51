/** `GET user`: the caller's sub-users; for an administrator, all users. */
import Type from 'typebox';
import { seesEveryone, STATUSES } from '../../../accounts/caller.ts';
import { USER_SORTS, type UserSort } from '../../../../platform/store/users.ts';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { endpoint } from '../../http/endpoint.ts';
import { checkedBy } from '../../http/read_input.ts';
import { anyOf, ids, listEcho, listSchema, offsetOf, Pagination, sortBy } from '../../http/lists.ts';
import { listedUser, ShownListedUser } from '../shown_user.ts';

const FIELDS = Object.keys(USER_SORTS) as UserSort[];
const Query = Type.Object(
  {
    status: anyOf(STATUSES, 'Users with one of these statuses.'),
    email: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      maxLength: 320,
      pattern: String.raw`^[^\u0000]*$`,
      default: null,
      description: 'Part of the e-mail address; case-insensitive.',
    }),
    id: ids('Users with these ids. Default: all that the caller can see.'),
    pagination: Pagination,
    sort: sortBy(FIELDS, 'id', 'asc'),
  },
  { additionalProperties: false },
);

async function list({ store }: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const { status, email, id, pagination, sort } = checkedBy(Query, ctx);
  const { users, total } = await store.listUsers({
    under: seesEveryone(caller) ? null : caller.userId,
    status,
    email,
    ids: id,
    sort,
    offset: offsetOf(pagination),
    limit: pagination.limit,
  });
  const { filter, ...echo } = listEcho(
    { filter: { status, email, id }, pagination, sort },
    { count: users.length, total },
  );
  ctx.body = { filter, users: users.map(listedUser), ...echo };
}

export const listUsers = endpoint(
  'GET user',
  {
    id: 'listUsers',
    tag: 'users',
    summary: 'List sub-users',
    query: Query,
    description: 'Administrators get all users.',
    answer: { description: 'A page of users.', schema: listSchema('users', ShownListedUser) },
  },
  list,
);
