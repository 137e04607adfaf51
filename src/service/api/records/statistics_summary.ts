/** `GET statistics/summary`: a month or a year of each user, in one list. */
import Type from 'typebox';
import { summaryPeriod } from '../../../platform/statistics/aggregation.ts';
import { summaryOf } from '../../../platform/statistics/resources.ts';
import { callerOf, type Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { ids } from '../http/lists.ts';
import { ownersOf } from './owners.ts';

const Query = Type.Object(
  {
    month: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      maximum: 12,
      default: null,
      description: 'Default: the current month, or the whole year if a year is given.',
    }),
    year: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 2000,
      maximum: 9998,
      default: null,
      description: 'Default: the current year.',
    }),
    'user-id': ids('Of these users. Default: the caller and their sub-users.'),
  },
  { additionalProperties: false },
);

const Answer = Type.Object({
  period: Type.Object({ from: Type.String({ format: 'date-time' }), to: Type.String({ format: 'date-time' }) }),
  'users-usage': Type.Array(
    Type.Object({
      'user-id': Type.Integer(),
      resources: Type.Array(
        Type.Object({
          name: Type.String(),
          title: Type.String(),
          value: Type.Number(),
          'value-type': Type.Unsafe<string | null>({ type: ['string', 'null'], enum: ['ms', 'request', 'byte', null] }),
          amount: Type.Number({ description: 'Always 0: nothing is billed.' }),
          price: Type.Number({ description: 'Always 0: nothing is billed.' }),
        }),
      ),
    }),
    { description: 'All requested users by id, including those without usage.' },
  ),
});

async function answer(deps: Deps, ctx: Context): Promise<void> {
  const { month, year, 'user-id': userIds } = checkedBy(Query, ctx);
  const period = summaryPeriod({ month, year }, new Date(deps.store.clock.now()));
  const owners = await ownersOf(deps, callerOf(ctx), { userIds, tokenIds: [] }, 'own');
  const figures = await deps.store.usageFigures('usage', owners, period, 'no-aggregation');
  const used = new Map(figures.map(({ userId, values }) => [userId, values]));
  const users = owners.userIds === 'everyone' ? [...used.keys()] : [...owners.userIds].sort((a, b) => a - b);
  ctx.body = {
    period: { from: period.from.toISOString(), to: period.to.toISOString() },
    'users-usage': users.map((id) => ({ 'user-id': id, resources: summaryOf(used.get(id) ?? {}) })),
  };
}

export const statisticsSummary = endpoint(
  'GET statistics/summary',
  {
    id: 'statisticsSummary',
    tag: 'statistics',
    summary: 'Monthly summary',
    also: [404],
    query: Query,
    answer: { description: 'Usage of each user in the month or year.', schema: Answer },
  },
  answer,
);
