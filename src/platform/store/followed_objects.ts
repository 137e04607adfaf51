/** Which batch or source belongs to which object of Kubernetes. */
import { readBatches, type Batch } from './batches.ts';
import type { Database } from './connection.ts';
import { query } from './query.ts';

export type FollowedKind = 'ProbeBatch' | 'ProbeSource';

export interface FollowedObject {
  kind: FollowedKind;
  uid: string;
  namespace: string;
  name: string;
}
export type LostObject = Omit<FollowedObject, 'kind'> & { id: string };

/** The id of what it has, which may not be created yet: the given one, or that of an earlier call. */
export const idOfObject = (
  database: Database,
  { kind, uid, namespace, name }: FollowedObject,
  given: string,
): Promise<string> =>
  database.value(query('id_of_object')`
    insert into followed_objects (uid, kind, namespace, name, made_id)
      values (${uid}, ${kind}, ${namespace}, ${name}, ${given})
      on conflict (uid) do update set uid = excluded.uid returning made_id`);

/** Those of a kind that are not among these, the oldest first. */
export const objectsBeside = (
  database: Database,
  kind: FollowedKind,
  { uids, limit }: { uids: readonly string[]; limit: number },
): Promise<LostObject[]> =>
  database.rows(query('objects_beside')`
    select uid, namespace, name, made_id id from followed_objects where kind = ${kind} and uid <> all(${uids})
      order by made_id limit ${limit}`);

/** With another id it was made anew meanwhile. */
export const forgetObject = (database: Database, { uid, id }: Pick<LostObject, 'uid' | 'id'>): Promise<void> =>
  database.run(query('forget_object')`delete from followed_objects where uid = ${uid} and made_id = ${id}`);

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
  const rows = await database.rows<{ uid: string; id: string; account: number | null }>(query('batches_of_objects')`
    select o.uid, b.id, (select coalesce(u.root_id, u.id) from users u where u.id = b.user_id) account
      from followed_objects o join batches b on b.id = o.made_id where o.uid = any(${uids}) or b.state <> 'ended'`);
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
