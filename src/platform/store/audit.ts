/**
 * The audit log: an entry for each change, for each sight of a secret, and for each call that was denied to a known
 * user. Entries are only added, and deleted by their age.
 */
import type { Sql } from 'sql-template-tag';
import type { Database } from './connection.ts';
import { column, pageOf, selected, type RecordOf } from './columns.ts';
import { query, raw, sql } from './query.ts';
import { jsonb } from './storable.ts';

/** One field. Of what is secret or personal there are no values, but what became of it. */
export interface AuditChange {
  field: string;
  before?: unknown;
  after?: unknown;
  redacted?: 'changed' | 'shown';
}

export const AUDIT_OUTCOMES = ['done', 'denied'] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

const COLUMNS = {
  /** UUIDv7: it orders the entries. */
  id: column<string>(),
  at: column<Date>(),
  /** Null: no user (`byNobody`). */
  actorId: column<number | null>(),
  /** The root user of the actor. */
  accountId: column<number | null>(),
  tokenId: column<number | null>(),
  sessionId: column<string | null>(),
  /** From where. Empty: from within the cluster. */
  address: column<string>(),
  action: column<string>(),
  /** A kind and an id: `user/7`, `policy/delivery`. */
  subject: column<string | null>(),
  outcome: column<AuditOutcome>(),
  /** Why it was denied. */
  code: column<string | null>(),
  changes: column<readonly AuditChange[]>(),
  /** Of the actor; null: erased, or not a user. */
  email: column<string | null>('u.email'),
};
export type AuditEntry = RecordOf<typeof COLUMNS>;
export type NewAuditEntry = Omit<AuditEntry, 'at' | 'email'>;

/** Of what no user does: a command in a pod, or what the API does by itself. */
export const byNobody = (id: string, action: string, userId: number, changes: AuditChange[]): NewAuditEntry => ({
  id,
  actorId: null,
  accountId: null,
  tokenId: null,
  sessionId: null,
  address: '',
  action,
  subject: `user/${userId}`,
  outcome: 'done',
  code: null,
  changes,
});

const FROM = raw('audit a left join users u on u.id = a.actor_id');
const SELECT = sql`select ${selected(COLUMNS, 'a')} from ${FROM}`;

export const addAuditEntry = (database: Database, entry: NewAuditEntry): Promise<void> =>
  database.run(query('add_audit_entry')`
    insert into audit (id, actor_id, account_id, token_id, session_id, address, action, subject, outcome, code, changes)
      values (${entry.id}, ${entry.actorId}, ${entry.accountId}, ${entry.tokenId}, ${entry.sessionId}, ${entry.address},
        ${entry.action}, ${entry.subject}, ${entry.outcome}, ${entry.code}, ${jsonb(entry.changes)})
      on conflict (id) do nothing`);

export const hasAuditEntry = (database: Database, id: string): Promise<boolean> =>
  database.hasRow(query('has_audit_entry')`select from audit where id = ${id}`);

/** Of lists, an empty one matches everything; so does null. */
export interface AuditFilter {
  /** Whose users acted. */
  accountId: number | null;
  /** Who may have acted, of those that the caller sees. */
  visible: readonly number[] | null;
  actors: readonly number[];
  actions: readonly string[];
  subjects: readonly string[];
  outcomes: readonly AuditOutcome[];
  from: Date | null;
  to: Date | null;
}

const matches = ({ accountId, visible, actors, actions, subjects, outcomes, from, to }: AuditFilter): Sql => sql`
  (${accountId}::bigint is null or a.account_id = ${accountId})
  and (${visible}::bigint[] is null or a.actor_id = any(${visible}))
  and (cardinality(${actors}::bigint[]) = 0 or a.actor_id = any(${actors}))
  and (cardinality(${actions}::text[]) = 0 or a.action = any(${actions}))
  and (cardinality(${subjects}::text[]) = 0 or a.subject = any(${subjects}))
  and (cardinality(${outcomes}::text[]) = 0 or a.outcome = any(${outcomes}))
  and (${from}::timestamptz is null or a.at >= ${from}) and (${to}::timestamptz is null or a.at < ${to})`;

export const listAudit = (
  database: Database,
  filter: AuditFilter,
  { order, ...page }: { order: 'asc' | 'desc'; offset: number; limit: number },
) =>
  pageOf<AuditEntry>(database, 'audit', {
    select: SELECT,
    from: FROM,
    where: matches(filter),
    order: `a.id ${order}`,
    ...page,
  });

/** The oldest first, from after this id on. */
export const auditAfter = (
  database: Database,
  filter: AuditFilter,
  id: string | null,
  limit: number,
): Promise<AuditEntry[]> =>
  database.rows<AuditEntry>(query('audit_after')`
    ${SELECT} where ${matches(filter)} and (${id}::uuid is null or a.id > ${id}) order by a.id limit ${limit}`);

/** Deletes what is older, in steps of 10,000 entries. */
export async function forgetAudit(database: Database, days: number): Promise<void> {
  for (;;) {
    const gone = await database.value<number>(query('forget_audit')`
      select forget_audit(now() - make_interval(days => ${days}))`);
    if (gone === 0) return;
  }
}
