/**
 * The audit log: an entry for each change, for each sight of a secret, and for each call that was denied to a known
 * user. Entries are only added, and deleted by their age.
 */
import type { Database } from './connection.ts';
import { column, listed, pageOf, type RecordOf } from './columns.ts';
import { named } from './named.ts';
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

const FROM = 'audit a left join users u on u.id = a.actor_id';
const SELECT = `select ${listed(COLUMNS, 'a')} from ${FROM}`;

const ADD = `
  insert into audit (id, actor_id, account_id, token_id, session_id, address, action, subject, outcome, code, changes)
    values (:id, :actorId, :accountId, :tokenId, :sessionId, :address, :action, :subject, :outcome, :code, :changes)
    on conflict (id) do nothing`;

export async function addAuditEntry(database: Database, entry: NewAuditEntry): Promise<void> {
  await database.rows({ name: 'add_audit_entry', ...named(ADD, { ...entry, changes: jsonb(entry.changes) }) });
}

export const hasAuditEntry = (database: Database, id: string): Promise<boolean> =>
  database.hasRow({ name: 'has_audit_entry', text: 'select from audit where id = $1', values: [id] });

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

const WHERE = `(:accountId::bigint is null or a.account_id = :accountId)
  and (:visible::bigint[] is null or a.actor_id = any(:visible))
  and (cardinality(:actors::bigint[]) = 0 or a.actor_id = any(:actors))
  and (cardinality(:actions::text[]) = 0 or a.action = any(:actions))
  and (cardinality(:subjects::text[]) = 0 or a.subject = any(:subjects))
  and (cardinality(:outcomes::text[]) = 0 or a.outcome = any(:outcomes))
  and (:from::timestamptz is null or a.at >= :from) and (:to::timestamptz is null or a.at < :to)`;

export function listAudit(
  database: Database,
  filter: AuditFilter,
  { order, offset, limit }: { order: 'asc' | 'desc'; offset: number; limit: number },
) {
  const { text: where, values } = named(WHERE, { ...filter });
  return pageOf<AuditEntry>(database, 'audit', {
    select: SELECT,
    from: FROM,
    where,
    values,
    order: `a.id ${order}`,
    offset,
    limit,
  });
}

/** The oldest first, from after this id on. */
export const auditAfter = (
  database: Database,
  filter: AuditFilter,
  id: string | null,
  limit: number,
): Promise<AuditEntry[]> =>
  database.rows<AuditEntry>({
    name: 'audit_after',
    ...named(`${SELECT} where ${WHERE} and (:id::uuid is null or a.id > :id) order by a.id limit :limit`, {
      ...filter,
      id,
      limit,
    }),
  });

/** Deletes what is older, in steps of 10,000 entries. */
export async function forgetAudit(database: Database, days: number): Promise<void> {
  for (;;) {
    const gone = await database.value<number>({
      name: 'forget_audit',
      text: 'select forget_audit(now() - make_interval(days => $1))',
      values: [days],
    });
    if (gone === 0) return;
  }
}
