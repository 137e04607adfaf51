/** Which batch belongs to which ProbeBatch. */
import { readBatches, type Batch } from './batches.ts';
import type { Database } from './connection.ts';

export interface BatchObject {
  uid: string;
  namespace: string;
  name: string;
}
export type LostObject = BatchObject & { batch: string };

/** The id of its batch, which may not be created yet: the given one, or that of an earlier call. */
export function batchIdOf(database: Database, { uid, namespace, name }: BatchObject, batch: string): Promise<string> {
  return database.value({
    name: 'batch_id_of',
    text: `insert into batch_objects (uid, namespace, name, batch_id) values ($1, $2, $3, $4)
      on conflict (uid) do update set uid = excluded.uid returning batch_id`,
    values: [uid, namespace, name, batch],
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

/** Those that are not among these, the oldest first. */
export function objectsBeside(database: Database, uids: readonly string[], limit: number): Promise<LostObject[]> {
  return database.rows({
    name: 'objects_beside',
    text: `select uid, namespace, name, batch_id batch from batch_objects where uid <> all($1)
      order by batch_id limit $2`,
    values: [uids, limit],
  });
}

export async function forgetObject(database: Database, uid: string): Promise<void> {
  await database.rows({ name: 'forget_object', text: 'delete from batch_objects where uid = $1', values: [uid] });
}
