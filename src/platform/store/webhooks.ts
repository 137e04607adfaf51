/**
 * The webhook outbox: rows are written by the transaction that closes a request, claimed under a lease, and kept with
 * the outcome of each attempt.
 */
import type { Database } from './connection.ts';
import { column, pageOf, selected, type RecordOf } from './columns.ts';
import { fixedLimit, query, raw, sql } from './query.ts';
import { jsonb } from './storable.ts';

export interface WebhookAttempt {
  /** RFC 3339. */
  at: string;
  /** Null: no response. */
  status: number | null;
  /** Public text; absent if delivered. */
  error?: string;
  durationMs: number;
}

export type WebhookState = 'pending' | 'delivered' | 'failed';

/** A webhook to send now, with everything its sender needs. */
const DUE = {
  id: column<string>(),
  requestId: column<string>(),
  submittedAt: column<Date>(),
  tokenId: column<number>(),
  /** Id of the root user. */
  account: column<number>('(select c.account from chosen c where c.id = o.id)'),
  url: column<string>(),
  /** Of a batch that goes on: how many of its items had ended. 0: of an end. Below: -1 - n of its item n. */
  progress: column<number>(),
  createdAt: column<Date>(),
  /** Retries of the schedule already used. */
  step: column<number>(),
  /** The previous claim expired without a recorded outcome. */
  lost: column<boolean>('mine.lost'),
  /** The token's secret, sealed; null if it has none yet. */
  secret: column<Buffer | null>('(select t.webhook_secret from tokens t where t.id = o.token_id)'),
  tokenGone: column<boolean>('not exists (select from tokens t where t.id = o.token_id)'),
};
export type DueWebhook = RecordOf<typeof DUE>;
const CLAIMED = selected(DUE, 'o');

const RECORD = {
  id: column<string>(),
  requestId: column<string>(),
  tokenId: column<number>(),
  userId: column<number>(),
  url: column<string>(),
  state: column<WebhookState>(),
  attempts: column<WebhookAttempt[]>(),
  nextAt: column<Date | null>(`case when state = 'pending' then next_at end`),
  createdAt: column<Date>(),
  endedAt: column<Date | null>(),
};
export type WebhookRecord = RecordOf<typeof RECORD>;

export interface WebhookClaim {
  /** The replica that holds the lease. */
  holder: string;
  leaseMs: number;
  /** Maximum number to claim. `perAccount` bounds one account, including `busy`. */
  limit: number;
  perAccount: number;
  /** Deliveries that the claimer already has in progress, by account. */
  busy: ReadonlyMap<number, number>;
}

export type WebhookVerdict = { state: 'delivered' | 'failed' } | { state: 'pending'; afterMs: number };

export interface WebhookFilter {
  /** Null: all users (for an administrator). */
  userIds: readonly number[] | null;
  tokenIds: readonly number[] | null;
  /** Empty: all states. */
  states: readonly WebhookState[];
  requestId: string | null;
  sort: 'created' | 'state' | 'next';
  order: 'asc' | 'desc';
  limit: number;
  offset: number;
}

/** Attempts kept of a webhook that is retried by hand many times. */
const KEPT = fixedLimit(50);

const SENDABLE = raw(`state = 'pending' and next_at <= now() and (lease_until is null or lease_until < now())`);

const BACKLOG = {
  /** At most 10,000. */
  pending: column<number>('count(*)'),
  /** Age of the oldest of them. */
  oldestMs: column<number>('coalesce(extract(epoch from now() - min(created_at)) * 1000, 0)::float8'),
  /** How long the first has been due. */
  overdueMs: column<number>('greatest(coalesce(extract(epoch from now() - min(next_at)) * 1000, 0), 0)::float8'),
};
export type WebhookBacklog = RecordOf<typeof BACKLOG>;
const COUNTED = selected(BACKLOG);

const SELECT = sql`select ${selected(RECORD)} from webhook_outbox`;
const SORTS = { created: 'created_at', state: 'state', next: 'next_at' } as const;

export function claimWebhooks(
  database: Database,
  { holder, leaseMs, limit, perAccount, busy }: WebhookClaim,
): Promise<DueWebhook[]> {
  const full = [...busy].filter(([, held]) => held >= perAccount).map(([account]) => account);
  // Rows are chosen first and locked by key afterwards: as one join, a table without statistics led to a nested loop of
  // 1,000 × 1,000 rows, 2.7 s. Each user with a webhook is looked up in the index, so that the backlog of one does not
  // hold up others. More are chosen than needed, because other replicas choose the same rows at the same time. For a
  // deleted user, the user id stands in for the account.
  return database.rows<DueWebhook>(query('claim_webhooks')`
    with recursive first (user_id, next_at) as (
      (select user_id, next_at from webhook_outbox where state = 'pending' order by 1, 2 limit 1)
      union all
      select following.* from first cross join lateral (
        select w.user_id, w.next_at from webhook_outbox w where w.state = 'pending' and w.user_id > first.user_id
          order by 1, 2 limit 1) following),
    due as materialized (
      select one.id, of.account, one.next_at, row_number() over (partition by of.account order by one.next_at) n
        from (select f.user_id, coalesce(u.root_id, f.user_id) account
          from first f left join users u on u.id = f.user_id
          where f.next_at <= now() and coalesce(u.root_id, f.user_id) <> all(${full}::bigint[])) of
        cross join lateral (
          select w.id, w.next_at from webhook_outbox w where w.user_id = of.user_id and ${SENDABLE}
            order by w.next_at limit ${perAccount}) one),
    chosen as materialized (
      select due.id, due.account, row_number() over (order by due.n + coalesce(busy.held, 0), due.next_at) place
        from due left join unnest(${[...busy.keys()]}::bigint[], ${[...busy.values()]}::int[]) as busy (account, held)
          on busy.account = due.account
        where due.n <= ${perAccount} - coalesce(busy.held, 0) order by place limit ${limit} * 4),
    mine as (
      select o.id, o.leased_by is not null lost from webhook_outbox o
        where o.id = any(array(select id from chosen)) and ${SENDABLE}
        order by (select c.place from chosen c where c.id = o.id) limit ${limit} for update skip locked)
    update webhook_outbox o
      set lease_until = now() + make_interval(secs => ${leaseMs} / 1000.0), leased_by = ${holder}
      from mine where o.id = mine.id
    returning ${CLAIMED}`);
}

/**
 * Milliseconds until the next webhook is due; null: none is pending. A leased one is due when its lease expires.
 */
export const nextWebhookInMs = (database: Database): Promise<number | null> =>
  database.value<number | null>(query('next_webhook')`
    select (extract(epoch from min(greatest(next_at, coalesce(lease_until, next_at))) - now()) * 1000)::float8 from (
      select next_at, lease_until from webhook_outbox where state = 'pending' order by next_at limit 200) soon`);

/** Of the first 10,000 in the order of their next attempt, so that the cost is bounded. */
export const webhookBacklog = (database: Database): Promise<WebhookBacklog> =>
  database.one<WebhookBacklog>(query('webhook_backlog')`
    select ${COUNTED} from (
      select created_at, next_at from webhook_outbox where state = 'pending' order by next_at limit 10000) first`);

/**
 * Records the outcome of an attempt and releases the lease. False: the lease had expired and another replica holds
 * the row; that replica's verdict counts.
 */
export function recordWebhook(
  database: Database,
  id: string,
  holder: string,
  attempt: WebhookAttempt,
  verdict: WebhookVerdict,
): Promise<boolean> {
  const { state } = verdict;
  const [step, afterMs] = verdict.state === 'pending' ? [1, verdict.afterMs] : [0, 0];
  return database.hasRow(query('record_webhook')`
    update webhook_outbox set attempts = (select coalesce(jsonb_agg(one order by at), '[]')
      from (select one, at
        from jsonb_array_elements(attempts || ${jsonb([attempt])}::jsonb) with ordinality all_of (one, at)
        order by at desc ${KEPT}) kept),
      state = ${state}, step = step + ${step}, next_at = now() + make_interval(secs => ${afterMs} / 1000.0),
      ended_at = case when ${state} = 'pending' then null else now() end, lease_until = null, leased_by = null
      where id = ${id} and leased_by = ${holder} returning id`);
}

/** Releases a claim without an attempt. */
export const releaseWebhook = (database: Database, id: string, holder: string, afterMs: number): Promise<void> =>
  database.run(query('release_webhook')`
    update webhook_outbox set lease_until = null, leased_by = null,
      next_at = now() + make_interval(secs => ${afterMs} / 1000.0) where id = ${id} and leased_by = ${holder}`);

export function listWebhooks(database: Database, filter: WebhookFilter) {
  const { userIds, states, tokenIds, requestId, sort, order, offset, limit } = filter;
  return pageOf<WebhookRecord>(database, 'webhooks', {
    select: SELECT,
    from: raw('webhook_outbox'),
    where: sql`
      (${userIds}::bigint[] is null or user_id = any(${userIds}))
        and (cardinality(${states}::text[]) = 0 or state = any(${states}))
        and (${tokenIds}::bigint[] is null or token_id = any(${tokenIds}))
        and (${requestId}::uuid is null or request_id = ${requestId})`,
    order: `${SORTS[sort]} ${order}, id ${order}`,
    offset,
    limit,
  });
}

/**
 * Makes a webhook due now and restarts an ended schedule. Null: there is none, or it belongs to another user. One
 * that is being sent stays unchanged.
 */
export async function retryWebhook(
  database: Database,
  id: string,
  userIds: readonly number[] | null,
): Promise<WebhookRecord | null> {
  const mine = sql`id = ${id} and (${userIds}::bigint[] is null or user_id = any(${userIds}))`;
  await database.run(query('retry_webhook')`
    update webhook_outbox set step = case when state = 'pending' then step else 0 end, state = 'pending',
      next_at = now(), ended_at = null
      where ${mine} and (lease_until is null or lease_until < now())`);
  return database.first<WebhookRecord>(query('read_webhook')`${SELECT} where ${mine}`);
}

const FORGOTTEN_AT_ONCE = 10_000;
/** Of an hour: the rest is for the next one. */
const MOST_STEPS = 100;

/**
 * Deletes ended webhooks of this age; pending ones are never deleted. In steps: a batch may leave a million, and in one
 * statement they took longer than one may.
 */
export async function forgetWebhooks(database: Database, olderThanDays: number): Promise<void> {
  for (let step = 0; step < MOST_STEPS; step++) {
    const gone = await database.value<number>(query('forget_webhooks')`
      with gone as (
        delete from webhook_outbox where state <> 'pending' and id = any(array(
          select id from webhook_outbox where created_at < now() - make_interval(days => ${olderThanDays})
            and state <> 'pending' and ended_at < now() - make_interval(days => ${olderThanDays})
            order by created_at ${fixedLimit(FORGOTTEN_AT_ONCE)}))
          returning 1)
      select count(*) from gone`);
    if (gone < FORGOTTEN_AT_ONCE) return;
  }
}
