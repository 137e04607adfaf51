/**
 * What accounts used in a month, with their labels. Figures of finished months stay when a user is erased: those of a
 * sub-user with the account, those of an account with its labels alone (migrations/0007_removal.sql).
 */
import type { Sql } from 'sql-template-tag';
import type { Database } from './connection.ts';
import { MEASURES } from './measures.ts';
import { query, raw, sql } from './query.ts';
import type { AccountLabels } from './users.ts';

const NAMES = [
  'request-count',
  'success',
  'with-errors',
  'error',
  'processing-time',
  'data-processed',
  'decoded-seconds',
] as const;

export type Charges = Record<(typeof NAMES)[number], number>;
export interface Charged {
  /** The root user; null: erased accounts with these labels. */
  accountId: number | null;
  labels: AccountLabels;
  used: Charges;
}
export interface Month {
  from: Date;
  to: Date;
}

const ALL = [...MEASURES.usage, ...MEASURES.requests];
const COUNTED = NAMES.map((name) => ALL.find((measure) => measure.name === name)!);
const columns = (place: 'kept' | 'live'): Sql =>
  raw(COUNTED.map((measure, index) => `${measure[place]} m${index}`).join(', '));
const [KEPT, LIVE] = [columns('kept'), columns('live')];
const NAMED_SUMS = COUNTED.map(({ name }, index) => `'${name}', coalesce(sum(m${index}::float8), 0)`);
const SUMS = raw(`jsonb_build_object(${NAMED_SUMS.join(', ')}) used`);
const within = (time: string, { from, to }: Month): Sql => sql`${raw(time)} >= ${from} and ${raw(time)} < ${to}`;

// Planned for its values: 100 accounts with 12,000 rows took 30 ms, and 450 ms by a plan for any month.

/** The next accounts after this one, also those that used nothing. */
export const chargeback = (database: Database, month: Month, after: number, limit: number): Promise<Charged[]> =>
  database.rows<Charged>({
    ...query('chargeback')`
      with accounts as (
        select id, labels from users where coalesce(root_id, id) = id and id > ${after} order by id limit ${limit}),
      members as (
        select a.id account, a.id member from accounts a
        union select a.id, u.id from accounts a join users u on u.root_id = a.id),
      used as (
        select m.account, ${KEPT} from members m
          join rollup_day r on r.user_id = m.member and ${within('r.at', month)}
        union all
        select m.account, ${LIVE} from members m
          join usage_minute u on u.user_id = m.member and ${within('u.minute', month)}
        union all
        select s.account_id, ${KEPT} from accounts a join erased_shares s on s.account_id = a.id
          join rollup_day r on r.user_id = -1 and r.token_id = s.id and ${within('r.at', month)})
      select a.id "accountId", a.labels, ${SUMS} from accounts a left join used u on u.account = a.id
        group by a.id, a.labels order by a.id`,
    prepared: false,
  });

/** By labels. */
export const chargebackOfErased = (database: Database, month: Month): Promise<Charged[]> =>
  database.rows<Charged>({
    ...query('chargeback_of_erased')`
      select null "accountId", labels, ${SUMS} from (
        select coalesce(s.labels, '{}') labels, ${KEPT}
          from rollup_day r left join erased_shares s on s.id = r.token_id
          where r.user_id = -1 and ${within('r.at', month)}
            and not exists (select from users a where a.id = s.account_id)) e
        group by labels order by labels`,
    prepared: false,
  });
