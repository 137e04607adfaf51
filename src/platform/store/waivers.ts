/** Waivers: what an account accepts of a source or a policy, until when and why. */
import { column, selected, type RecordOf } from './columns.ts';
import type { Database } from './connection.ts';
import { query, raw, sql } from './query.ts';
import { SHOWN_NAME } from './users.ts';

/** What an answer says of one. */
const LIVE = {
  id: column<string>(),
  rule: column<string | null>(),
  check: column<string | null>('w.check_name'),
  stream: column<number | null>(),
  from: column<number | null>('w.from_s'),
  to: column<number | null>('w.to_s'),
  reason: column<string>(),
  until: column<Date>(),
  /** Who made it; null: an erased user. */
  by: column<string | null>(SHOWN_NAME),
};
export type LiveWaiver = RecordOf<typeof LIVE>;

const COLUMNS = {
  ...LIVE,
  userId: column<number>(),
  source: column<string | null>(),
  policy: column<string | null>(),
  createdAt: column<Date>(),
  revokedAt: column<Date | null>(),
};
export type Waiver = RecordOf<typeof COLUMNS>;

export interface NewWaiver extends Omit<Waiver, 'revokedAt' | 'by'> {
  account: number;
  /** Of `source`. */
  sourceSha256: Buffer | null;
}

const FROM = raw('from waivers w left join users u on u.id = w.user_id');
const LISTED = selected(COLUMNS, 'w');
const SELECT = sql`select ${LISTED} ${FROM}`;
const SELECT_LIVE = sql`select ${selected(LIVE, 'w')} ${FROM}`;
/** After `with changed as (…)`. */
const SELECT_CHANGED = sql`select ${LISTED} from changed w left join users u on u.id = w.user_id`;

/** Null: the account has as many as it may. */
export const makeWaiver = (
  database: Database,
  { id, account, userId, source, sourceSha256, policy, rule, check, stream, ...waiver }: NewWaiver,
  most: number,
): Promise<Waiver | null> =>
  database.first<Waiver>(query('make_waiver')`
    with changed as (
      insert into waivers (id, account_id, user_id, source, source_sha256, policy, rule, check_name, stream, from_s,
        to_s, reason, created_at, until)
      select ${id}, ${account}, ${userId}, ${source}, ${sourceSha256}, ${policy}, ${rule}, ${check}, ${stream},
        ${waiver.from}, ${waiver.to}, ${waiver.reason}, ${waiver.createdAt}, ${waiver.until}
      where not waivers_full(${account}, ${most}) returning *) ${SELECT_CHANGED}`);

/** The newest first. `ended`: also those that were revoked, or whose time is over. */
export const listWaivers = (
  database: Database,
  account: number,
  { ended, before, limit }: { ended: boolean; before: string | null; limit: number },
): Promise<Waiver[]> =>
  database.rows<Waiver>(query('list_waivers')`
    ${SELECT}
      where w.account_id = ${account} and (${ended} or (w.revoked_at is null and w.until > now()))
      and (${before}::uuid is null or w.id < ${before}) order by w.id desc limit ${limit}`);

/**
 * Of this source's checks, and of this policy's rules, in the account of a user. Of several, the one that lasts longest
 * comes first.
 */
export const liveWaivers = (
  database: Database,
  userId: number,
  { sourceSha256, policy }: { sourceSha256: Buffer; policy: string | null },
): Promise<LiveWaiver[]> =>
  database.rows<LiveWaiver>(query('live_waivers')`
    ${SELECT_LIVE}
      where w.account_id = (select coalesce(o.root_id, o.id) from users o where o.id = ${userId})
      and w.revoked_at is null and w.until > now() and (w.source_sha256 = ${sourceSha256} or w.source_sha256 is null)
      and (w.policy is null or w.policy = ${policy}) order by w.until desc, w.id`);

/** Null: there is no such live one. */
export const revokeWaiver = (database: Database, account: number, id: string): Promise<Waiver | null> =>
  database.first<Waiver>(query('revoke_waiver')`
    with changed as (
      update waivers set revoked_at = now()
        where account_id = ${account} and id = ${id} and revoked_at is null and until > now() returning *)
    ${SELECT_CHANGED}`);
