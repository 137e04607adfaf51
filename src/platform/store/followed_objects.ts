/** Which batch or source belongs to which object of Kubernetes. */
import { readBatches, type Batch } from './batches.ts';
import type { Database } from './connection.ts';

/** The table of a kind, and the column with the id of what each object has. */
const TABLES = {
  ProbeBatch: { table: 'batch_objects', id: 'batch_id' },
  ProbeSource: { table: 'probe_sources', id: 'source_id' },
} as const;
export type FollowedKind = keyof typeof TABLES;

export interface FollowedObject {
  kind: FollowedKind;
  uid: string;
  namespace: string;
  name: string;
}
export type LostObject = FollowedObject & { id: string };

/** The id of what it has, which may not be created yet: the given one, or that of an earlier call. */
export function idOfObject(
  database: Database,
  { kind, uid, namespace, name }: FollowedObject,
  given: string,
): Promise<string> {
  const { table, id } = TABLES[kind];
  return database.value({
    name: `id_in_${table}`,
    text: `insert into ${table} (uid, namespace, name, ${id}) values ($1, $2, $3, $4)
      on conflict (uid) do update set uid = excluded.uid returning ${id}`,
    values: [uid, namespace, name, given],
  });
}

/** Those of a kind that are not among these, the oldest first. */
export function objectsBeside(
  database: Database,
  kind: FollowedKind,
  { uids, limit }: { uids: readonly string[]; limit: number },
): Promise<LostObject[]> {
  const { table, id } = TABLES[kind];
  return database.rows({
    name: `beside_in_${table}`,
    text: `select '${kind}' kind, uid, namespace, name, ${id} id from ${table} where uid <> all($1)
      order by ${id} limit $2`,
    values: [uids, limit],
  });
}

/** With another id it was made anew meanwhile. */
export async function forgetObject(
  database: Database,
  { kind, uid, id }: Pick<LostObject, 'kind' | 'uid' | 'id'>,
): Promise<void> {
  const { table, id: column } = TABLES[kind];
  await database.rows({
    name: `forget_in_${table}`,
    text: `delete from ${table} where uid = $1 and ${column} = $2`,
    values: [uid, id],
  });
}

/** `account`: its root user; null: erased. */
export interface BatchOfObject {
  batch: Batch;
  account: number | null;
}

/** The batches of these objects, and all that have not ended, by uid. */
export async function batchesOfObjects(
  database: Database,
  uids: readonly string[],
): Promise<Map<string, BatchOfObject>> {
  const rows = await database.rows<{ uid: string; id: string; account: number | null }>({
    name: 'batches_of_objects',
    text: `select o.uid, b.id, (select coalesce(u.root_id, u.id) from users u where u.id = b.user_id) account
      from batch_objects o join batches b on b.id = o.batch_id where o.uid = any($1) or b.state <> 'ended'`,
    values: [uids],
  });
  const batches = await readBatches(
    database,
    rows.map(({ id }) => id),
  );
  return new Map(
    rows.flatMap(({ uid, id, account }) => {
      const batch = batches.get(id);
      return batch ? [[uid, { batch, account }]] : [];
    }),
  );
}
