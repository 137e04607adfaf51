/** Which batch or source belongs to which object of Kubernetes. */
import { readBatches, type Batch } from './batches.ts';
import type { Database } from './connection.ts';

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
  database.value({
    name: 'id_of_object',
    text: `insert into followed_objects (uid, kind, namespace, name, made_id) values ($1, $2, $3, $4, $5)
      on conflict (uid) do update set uid = excluded.uid returning made_id`,
    values: [uid, kind, namespace, name, given],
  });

/** Those of a kind that are not among these, the oldest first. */
export const objectsBeside = (
  database: Database,
  kind: FollowedKind,
  { uids, limit }: { uids: readonly string[]; limit: number },
): Promise<LostObject[]> =>
  database.rows({
    name: 'objects_beside',
    text: `select uid, namespace, name, made_id id from followed_objects where kind = $1 and uid <> all($2)
      order by made_id limit $3`,
    values: [kind, uids, limit],
  });

/** With another id it was made anew meanwhile. */
export async function forgetObject(database: Database, { uid, id }: Pick<LostObject, 'uid' | 'id'>): Promise<void> {
  await database.rows({
    name: 'forget_object',
    text: 'delete from followed_objects where uid = $1 and made_id = $2',
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
      from followed_objects o join batches b on b.id = o.made_id where o.uid = any($1) or b.state <> 'ended'`,
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
