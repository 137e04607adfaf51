/**
 * Policy records: those of each account, and the shared ones, which the leader copies from ProbePolicy objects. A
 * document is the canonical JSON of a policy; it is identified by its SHA-256 and immutable. A former policy is a
 * revision that was used, and is no longer among the latest of its policy, or whose policy was deleted.
 */
import type { Sql } from 'sql-template-tag';
import type { Database } from './connection.ts';
import { column, selected, type RecordOf } from './columns.ts';
import { calling } from './function_call.ts';
import { fixedLimit, query, raw, sql } from './query.ts';
import { integer } from './storable.ts';

/** The account id of shared policies. */
export const SHARED = 0;

/** The quota of one account. */
export interface MostPolicies {
  policies: number;
  /** Per policy: the oldest revision is deleted, or becomes a former one. */
  revisions: number;
  /** Saved and inline documents; also the number of revisions, former ones too. */
  documents: number;
  bytes: number;
}

const COLUMNS = {
  account: column<number>('p.account_id'),
  name: column<string>(),
  revision: column<number>(),
  /** In hex. */
  digest: column<string>(`encode(p.digest, 'hex')`),
  description: column<string | null>(),
  /** The user who saved it; null for a shared policy. */
  userId: column<number | null>(),
  createdAt: column<Date>(),
};
export type PolicyRevision = RecordOf<typeof COLUMNS>;

const SAVED_COLUMNS = {
  ...COLUMNS,
  document: column<string>('d.document'),
  /** Within the last hour. */
  usedLately: column<boolean>(`coalesce(p.used_at > now() - interval '1 hour', false)`),
};
export type SavedPolicy = RecordOf<typeof SAVED_COLUMNS>;

export interface KeptDocument {
  /** In hex. */
  digest: string;
  document: string;
}

type PutPolicy =
  | { outcome: 'saved' | 'unchanged'; revision: number }
  /** The account has reached its number of policies. */
  | { outcome: 'too-many' }
  /** The account has reached its number of documents or revisions. */
  | { outcome: 'no-room' };

const LISTED = selected(COLUMNS, 'p');
const savedIn = (table: 'policies' | 'former_policies'): Sql => sql`
  select ${selected(SAVED_COLUMNS, 'p')} from ${raw(table)} p join policy_documents d using (account_id, digest)`;
const SAVED = savedIn('policies');
const SAVED_FORMER = savedIn('former_policies');

/** Of one policy in a list. */
const LIMITED = fixedLimit(500);

const bytesOf = (digest: string): Buffer => Buffer.from(digest, 'hex');

/** `revision` null: the latest one. Another may be a former one. */
export async function findPolicy(
  database: Database,
  account: number,
  name: string,
  revision: number | null = null,
): Promise<SavedPolicy | null> {
  const wanted = revision === null ? null : integer(revision);
  const found = await database.first<SavedPolicy>(query('find_policy')`
    ${SAVED} where p.account_id = ${account} and p.name = ${name}
      and (${wanted}::integer is null or p.revision = ${wanted}) order by p.revision desc limit 1`);
  if (found || revision === null) return found;
  return database.first<SavedPolicy>(query('find_former_policy')`
    ${SAVED_FORMER} where p.account_id = ${account} and p.name = ${name} and p.revision = ${wanted}`);
}

/**
 * Finds the policy of a request that is recorded, or of a caller that pins the revision: from then on it stays
 * readable for as long as the request.
 */
export async function usePolicy(
  database: Database,
  account: number,
  name: string,
  revision: number | null = null,
): Promise<SavedPolicy | null> {
  for (;;) {
    const found = await findPolicy(database, account, name, revision);
    if (!found || found.usedLately) return found;
    // False: it was deleted meanwhile.
    if (await database.value(calling('use_policy', { account, name, revision: found.revision }))) return found;
  }
}

export function putPolicy(
  database: Database,
  of: { account: number; name: string; description?: string | undefined; userId: number | null },
  { digest, document }: KeptDocument,
  most: MostPolicies,
): Promise<PutPolicy> {
  return database.one<PutPolicy>(
    calling('put_policy', {
      account: of.account,
      name: of.name,
      digest: bytesOf(digest),
      document,
      description: of.description ?? null,
      user: of.userId,
      most_policies: most.policies,
      most_revisions: most.revisions,
      most_documents: most.documents,
      most_bytes: most.bytes,
    }),
  );
}

/** False if it does not exist. Revisions that were used become former ones. */
export const deletePolicy = (database: Database, account: number, name: string): Promise<boolean> =>
  database.value(calling('delete_policy', { account, name }));

/** Stores the document of an inline policy. False: the account has reached its number of documents. */
export function keepPolicyDocument(
  database: Database,
  account: number,
  { digest, document }: KeptDocument,
  { documents, bytes }: Pick<MostPolicies, 'documents' | 'bytes'>,
): Promise<boolean> {
  return database.value<boolean>(
    calling('keep_policy_document', {
      account,
      digest: bytesOf(digest),
      document,
      most: documents,
      most_bytes: bytes,
    }),
  );
}

export const policyDocument = (database: Database, account: number, digest: string): Promise<string | null> =>
  database.valueOrNull<string>(query('policy_document')`
    select document from policy_documents where account_id = ${account} and digest = ${bytesOf(digest)}`);

/** The newest first, former ones too. */
export const policyRevisions = (database: Database, account: number, name: string): Promise<PolicyRevision[]> =>
  database.rows<PolicyRevision>(query('policy_revisions')`
    select ${LISTED} from policies p where p.account_id = ${account} and p.name = ${name}
      union all select ${LISTED} from former_policies p where p.account_id = ${account} and p.name = ${name}
      order by revision desc ${LIMITED}`);

/** The latest revision of each policy of these accounts, by name. */
export const latestPolicies = (database: Database, accounts: readonly number[]): Promise<PolicyRevision[]> =>
  database.rows<PolicyRevision>(query('latest_policies')`
    select distinct on (p.account_id, p.name) ${LISTED} from policies p
      where p.account_id = any(${accounts}) order by p.account_id, p.name, p.revision desc`);

/** Deletes documents that no policy refers to and that were unused for an hour. Returns their number. */
export const forgetPolicyDocuments = (database: Database): Promise<number> =>
  database.value(calling('forget_policy_documents', { account: null }));
