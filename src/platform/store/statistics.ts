/**
 * Usage figures. Each is one statement, so usage that is folded meanwhile is counted once. It sums the rollups (in the
 * widest pieces that fit, cover.ts), the usage not yet folded, and the requests of the two partial minutes at the ends
 * of the range.
 */
import { BUCKET, type Aggregation } from '../statistics/aggregation.ts';
import { cover, widened, type Cover, type Range } from '../statistics/cover.ts';
import type { Database, Query } from './connection.ts';
import type { Bucket, Statistic, Values } from '../statistics/resources.ts';
import { MEASURES, type Measure } from './measures.ts';
import { query } from './query.ts';
import { keptSince } from './retention.ts';

/** `tokenIds` null: all tokens. */
export interface Owners {
  userIds: readonly number[] | 'everyone';
  tokenIds: readonly number[] | null;
}

/** Rows of usage that are folded into the rollups at once. */
const AT_ONCE = 2_000;
/** Bounds one call; the rest is left for the next, so that the caller's other work is not delayed. */
const MOST_TURNS = 200;
const EVERYONE = 0;
/** What erased users had used in finished months, by day. The log must not count it: it lists what there is. */
const ERASED = -1;
const SQL_OF: Record<Measure['aggregate'], (column: string) => string> = {
  // float8 is exact for integers below 2^53. Sums of bigint are numeric, and converting those to text takes longer than
  // the sum.
  sum: (column) => `coalesce(sum((${column})::float8), 0)`,
  max: (column) => `max(${column})`,
  histogram: (column) => `string_agg(${column}, ',')`,
};

type UsageSource = 'kept' | 'live' | 'raw';

/**
 * The statement for these measures. Each piece takes two parameters for its times, so the text is the same for every
 * range and is prepared once.
 */
function statement(
  measures: readonly Measure[],
  unit: string | null,
  pieces: Cover,
  live: boolean,
  everyone: boolean,
): string {
  let next = 3;
  // A rollup of the bucket's width already has the bucket's times.
  const bucket = (grain: string, time: string) =>
    unit === null ? 'null::timestamptz' : unit === grain ? time : `date_trunc('${unit}', ${time}, 'UTC')`;
  const columns = (place: UsageSource) => measures.map((measure, index) => `${measure[place]} m${index}`).join(', ');
  const part = (place: UsageSource, table: string, time: string, grain: string) => {
    const user = everyone ? `${EVERYONE} user_id` : 'user_id';
    const owner = everyone && place !== 'kept' ? '$1::bigint[] is not null' : 'user_id = any($1::bigint[])';
    const token =
      everyone && place === 'kept' ? '$2::bigint[] is null' : '($2::bigint[] is null or token_id = any($2::bigint[]))';
    const ended = place === 'raw' ? ` and state <> 'open'` : '';
    const text = `select ${user}, ${bucket(grain, time)} bucket, ${columns(place)} from ${table}
      where ${owner} and ${token} and ${time} >= $${next} and ${time} < $${next + 1}${ended}`;
    next += 2;
    return text;
  };
  const parts = [
    ...(['day', 'hour', 'minute'] as const).flatMap((grain) =>
      pieces[grain].map(() => part('kept', `rollup_${grain}`, 'at', grain)),
    ),
    ...(live ? [part('live', 'usage_minute', 'minute', 'minute')] : []),
    ...pieces.raw.map(() => part('raw', 'requests', 'submitted_at', 'request')),
  ];
  return `select user_id, date_part('epoch', bucket) * 1000,
    ${measures.map(({ aggregate }, index) => SQL_OF[aggregate](`m${index}`)).join(', ')}
    from (${parts.join(' union all ')}) u group by user_id, bucket order by user_id, bucket`;
}

const times = (ranges: Range[]) => ranges.flatMap(({ from, to }) => [new Date(from), new Date(to)]);

export function usageQuery(
  name: string,
  measures: readonly Measure[],
  owners: Owners,
  range: Range,
  { unit, coarsest, erased = [] }: { unit: string | null; coarsest: Cover | null; erased?: number[] },
): Query | null {
  const pieces: Cover = coarsest ?? {
    day: [],
    hour: [],
    minute: [],
    raw: range.from < range.to ? [range] : [],
    folded: { from: 0, to: 0 },
  };
  const live = pieces.folded.from < pieces.folded.to;
  if (!live && pieces.raw.length === 0) return null;
  const counts = [pieces.day, pieces.hour, pieces.minute, pieces.raw].map(({ length }) => length).join('');
  const everyone = owners.userIds === 'everyone';
  return {
    name: `${name}_${unit ?? 'one'}_${counts}${everyone ? '_all' : ''}`,
    text: statement(measures, unit, pieces, live, everyone),
    values: [
      everyone ? [EVERYONE, ...erased] : owners.userIds,
      owners.tokenIds,
      ...times(pieces.day),
      ...times(pieces.hour),
      ...times(pieces.minute),
      ...(live ? times([pieces.folded]) : []),
      ...times(pieces.raw),
    ],
    // Planned for its values: the plan then reads only the partitions in the range.
    ...(pieces.raw.length > 0 ? { prepared: false } : {}),
    array: true,
  };
}

/** Ordered by user and time, without empty buckets. */
export async function usageFigures(
  database: Database,
  statistic: Statistic,
  owners: Owners,
  period: { from: Date; to: Date },
  aggregation: Aggregation,
): Promise<Bucket[]> {
  const { unit, coarsest } = BUCKET[aggregation];
  const asked = { from: period.from.getTime(), to: period.to.getTime() };
  const since = await keptSince(database);
  const range = coarsest === null ? asked : widened(asked, since);
  const asking = usageQuery(`usage_${statistic}`, MEASURES[statistic], owners, range, {
    unit,
    coarsest: coarsest && cover(range, coarsest, since.minutes),
    erased: [ERASED],
  });
  if (!asking) return [];
  const rows = await database.rows<[number, number | null, ...(number | string)[]]>(asking);
  return rows.map(([userId, at, ...figures]) => {
    const values: Values = {};
    for (const [index, { name }] of MEASURES[statistic].entries()) values[name] = figures[index]!;
    return { userId, at: at === null ? null : new Date(at), values };
  });
}

/**
 * Folds settled usage into the rollups by minute, hour and day, and returns the number of folded rows. Figures are
 * exact either way; folding makes them fast. To be called about once a minute by any replica: while one folds, the
 * others find nothing to do.
 */
export async function foldUsage(database: Database, { restSeconds = 120 } = {}): Promise<number> {
  let folded = 0;
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const n = await database.value<number>(query('fold_usage')`
      select fold_usage(make_interval(secs => ${restSeconds}), ${AT_ONCE})`);
    folded += n;
    if (n < AT_ONCE) break;
  }
  return folded;
}
