import type { Query } from '../../api_calls.ts';
import type { Run } from '../command.ts';
import { EXIT } from '../failure.ts';
import { writeAnswer } from '../output/document.ts';
import { bytes, duration } from '../output/figures.ts';
import { tableText } from '../output/table.ts';
import { period } from './log.ts';

type UsageQuery = NonNullable<Query<'GET statistics/usage'>>;
export const BY = { hour: 'hourly', day: 'daily', week: 'weekly', month: 'monthly', year: 'yearly' } as const;

const run: Run = async (invocation) => {
  const { format, terminal } = invocation;
  const by = invocation.text('by') as keyof typeof BY | undefined;
  const date = period(invocation);
  const query: UsageQuery = {
    ...(Object.keys(date).length === 0 ? {} : { date }),
    aggregation: by === undefined ? 'daily' : BY[by],
  };
  const api = await invocation.api();
  if (format !== 'table') {
    await writeAnswer(invocation, (await api.ask('GET statistics/usage', { query })).body);
    return EXIT.done;
  }
  const { 'users-usage': users } = await api.call('GET statistics/usage', { query });
  const rows = users.flatMap(({ 'user-id': user, 'aggregated-usage': buckets }) =>
    buckets.map(({ 'aggregation-time': time, resources }) => [
      time,
      String(user),
      String(resources['request-count']),
      duration(resources['processing-time']),
      bytes(resources['data-processed']),
    ]),
  );
  await terminal.data(tableText(terminal, ['FROM', 'USER', 'REQUESTS', 'TIME', 'READ'], rows));
  return EXIT.done;
};
export default run;
