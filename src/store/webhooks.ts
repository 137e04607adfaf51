/**
 * The webhook outbox: rows are written by the transaction that closes a request, claimed under a lease, and kept with
 * what came of each attempt.
 */
import type { Database } from './connection.ts';
import { listed, type Columns } from './columns.ts';
import { jsonb } from './storable.ts';
import type { SourceException } from '../source_exception.ts';

export interface WebhookAttempt {
  /** RFC 3339. */
  at: string;
  /** Null: there was no answer. */
  status: number | null;
  /** Public; absent where it was delivered. */
  error?: string;
  durationMs: number;
}

export type WebhookState = 'pending' | 'delivered' | 'failed';

/** A webhook to be sent now, and all that its sender needs to know. */
export interface DueWebhook {
  id: string;
  requestId: string;
  submittedAt: Date;
  tokenId: number;
  /** The root user. */
  account: number;
  url: string;
  /** Retries of the schedule that are used up. */
  step: number;
  /** The last claim ended without a word of what came of it. */
  lost: boolean;
  /** Of its token, sealed; null: it has none yet. */
  secret: Buffer | null;
  tokenGone: boolean;
  allow: SourceException[];
}

export interface WebhookRecord {
  id: string;
  requestId: string;
  tokenId: number;
  userId: number;
  url: string;
  state: WebhookState;
  attempts: WebhookAttempt[];
  nextAt: Date | null;
  createdAt: Date;
  endedAt: Date | null;
}

export interface WebhookClaim {
  /** Whose lease it is. */
  holder: string;
  leaseMs: number;
  /** At most so many, and of one account no more than `perAccount`, `busy` counted in. */
  limit: number;
  perAccount: number;
  /** What the claimer has in hand, by account. */
  busy: ReadonlyMap<number, number>;
}

export type WebhookVerdict = { state: 'delivered' | 'failed' } | { state: 'pending'; afterMs: number };

export interface WebhookFilter {
  /** Null: everyone's (an administrator). Else these users' alone. */
  userIds: readonly number[] | null;
  tokenIds: readonly number[] | null;
  /** None: all. */
  states: readonly WebhookState[];
  requestId: string | null;
  sort: 'created' | 'state' | 'next';
  order: 'asc' | 'desc';
  limit: number;
  offset: number;
}

/** Of a webhook that is sent again and again by hand, the last ones are kept. */
const KEPT_ATTEMPTS = 50;
/** Due rows that a claim looks through: an account with a long list must not hide the others for long. */
const LOOK = 2_000;

const DUE: Columns<DueWebhook> = {
  id: 'o.id',
  requestId: 'o.request_id',
  submittedAt: 'o.submitted_at',
  tokenId: 'o.token_id',
  account: '(select c.account from chosen c where c.id = o.id)',
  url: 'o.url',
  step: 'o.step',
  lost: 'mine.lost',
  secret: '(select t.webhook_secret from tokens t where t.id = o.token_id)',
  tokenGone: 'not exists (select from tokens t where t.id = o.token_id)',
  allow: `coalesce((select t.allow from tokens t where t.id = o.token_id and t.revoked_at is null), '[]')`,
};
const RECORD: Columns<WebhookRecord> = {
  id: 'id',
  requestId: 'request_id',
  tokenId: 'token_id',
  userId: 'user_id',
  url: 'url',
  state: 'state',
  attempts: 'attempts',
  nextAt: `case when state = 'pending' then next_at end`,
  createdAt: 'created_at',
  endedAt: 'ended_at',
};

const SENDABLE = `state = 'pending' and next_at <= now() and (lease_until is null or lease_until < now())`;
// Chosen first and locked by their keys afterwards: as one join, a table without statistics made it a nested loop of
// 1,000 × 1,000 rows, 2.7 s. More are chosen than wanted, because other replicas choose the same ones at the same time.
// Of a user who is gone, the user is the account.
const CLAIM = `
  with due as materialized (
    select id, account, next_at, row_number() over (partition by account order by next_at) n
      from (select w.id, coalesce(u.root_id, w.user_id) account, w.next_at from webhook_outbox w
        left join users u on u.id = w.user_id
        where ${SENDABLE} and coalesce(u.root_id, w.user_id) <> all($5::bigint[]) order by w.next_at
          limit ${LOOK}) first),
  chosen as materialized (
    select due.id, due.account from due
      left join unnest($6::bigint[], $7::int[]) as busy (account, held) on busy.account = due.account
      where due.n <= $4 - coalesce(busy.held, 0) order by due.n, due.next_at limit $3 * 4),
  mine as (
    select o.id, o.leased_by is not null lost from webhook_outbox o
      where o.id = any(array(select id from chosen)) and ${SENDABLE} limit $3 for update skip locked)
  update webhook_outbox o set lease_until = now() + make_interval(secs => $2 / 1000.0), leased_by = $1 from mine
    where o.id = mine.id
  returning ${listed(DUE)}`;

const SELECT = `select ${listed(RECORD)} from webhook_outbox`;
const SORTS = { created: 'created_at', state: 'state', next: 'next_at' } as const;

export function webhookCalls(database: Database) {
  return {
    async claimWebhooks({ holder, leaseMs, limit, perAccount, busy }: WebhookClaim): Promise<DueWebhook[]> {
      const full = [...busy].filter(([, held]) => held >= perAccount).map(([account]) => account);
      return database.rows<DueWebhook>({
        name: 'claim_webhooks',
        text: CLAIM,
        values: [holder, leaseMs, limit, perAccount, full, [...busy.keys()], [...busy.values()]],
      });
    },

    /** Milliseconds until the next one is due; null: none waits. Those under a lease count from its end. */
    async nextWebhookInMs(): Promise<number | null> {
      const [row] = await database.rows<{ ms: number | null }>({
        name: 'next_webhook',
        text: `
          select (extract(epoch from min(greatest(next_at, coalesce(lease_until, next_at))) - now()) * 1000)::float8 ms
          from (
            select next_at, lease_until from webhook_outbox where state = 'pending' order by next_at limit 200) soon`,
        values: [],
      });
      return row?.ms ?? null;
    },

    /**
     * Writes what came of an attempt, and gives the lease back. False: the lease had run out and the row is another's
     * now; its verdict counts.
     */
    async recordWebhook(
      id: string,
      holder: string,
      attempt: WebhookAttempt,
      verdict: WebhookVerdict,
    ): Promise<boolean> {
      const again = verdict.state === 'pending';
      const rows = await database.rows<{ id: string }>({
        name: 'record_webhook',
        text: `update webhook_outbox set attempts = (select coalesce(jsonb_agg(one order by at), '[]')
          from (select one, at from jsonb_array_elements(attempts || $3::jsonb) with ordinality all_of (one, at)
          order by at desc limit ${KEPT_ATTEMPTS}) kept),
            state = $4, step = step + $5, next_at = now() + make_interval(secs => $6 / 1000.0),
              ended_at = case when $4 = 'pending' then null else now() end, lease_until = null, leased_by = null
          where id = $1 and leased_by = $2 returning id`,
        values: [id, holder, jsonb([attempt]), verdict.state, again ? 1 : 0, again ? verdict.afterMs : 0],
      });
      return rows.length > 0;
    },

    /** Gives a claimed one back without an attempt. */
    async releaseWebhook(id: string, holder: string, afterMs: number): Promise<void> {
      await database.rows({
        name: 'release_webhook',
        text: `update webhook_outbox set lease_until = null, leased_by = null,
          next_at = now() + make_interval(secs => $3 / 1000.0) where id = $1 and leased_by = $2`,
        values: [id, holder, afterMs],
      });
    },

    async listWebhooks(filter: WebhookFilter): Promise<{ webhooks: WebhookRecord[]; total: number }> {
      const where = `($1::bigint[] is null or user_id = any($1))
        and (cardinality($2::text[]) = 0 or state = any($2)) and ($3::bigint[] is null or token_id = any($3))
        and ($4::uuid is null or request_id = $4)`;
      const { sort, order } = filter;
      const values = [filter.userIds, filter.states, filter.tokenIds, filter.requestId];
      const [rows, [count]] = await Promise.all([
        database.rows<WebhookRecord>({
          name: `list_webhooks_${sort}_${order}`,
          text: `${SELECT} where ${where} order by ${SORTS[sort]} ${order}, id ${order} limit $5 offset $6`,
          values: [...values, filter.limit, filter.offset],
        }),
        database.rows<{ total: number }>({
          name: 'count_webhooks',
          text: `select count(*) total from webhook_outbox where ${where}`,
          values,
        }),
      ]);
      return { webhooks: rows, total: count?.total ?? 0 };
    },

    /**
     * Due now, its schedule from the beginning where it had ended. Null: there is none, or it is not theirs. One that
     * is being sent stays as it is.
     */
    async retryWebhook(id: string, userIds: readonly number[] | null): Promise<WebhookRecord | null> {
      const values = [id, userIds];
      const mine = `id = $1 and ($2::bigint[] is null or user_id = any($2))`;
      await database.rows({
        name: 'retry_webhook',
        text: `update webhook_outbox set step = case when state = 'pending' then step else 0 end, state = 'pending',
          next_at = now(), ended_at = null
          where ${mine} and (lease_until is null or lease_until < now())`,
        values,
      });
      const [row] = await database.rows<WebhookRecord>({
        name: 'read_webhook',
        text: `${SELECT} where ${mine}`,
        values,
      });
      return row ?? null;
    },

    /** Ended ones are forgotten after this; those that wait never are. */
    async forgetWebhooks(olderThanDays: number): Promise<void> {
      await database.rows({
        name: 'forget_webhooks',
        text: `delete from webhook_outbox where state <> 'pending' and ended_at < now() - make_interval(days => $1)`,
        values: [olderThanDays],
      });
    },
  };
}
