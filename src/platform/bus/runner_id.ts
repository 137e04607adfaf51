/**
 * Names a runner in subjects, permissions, results and the status of jobs. A pod that is renewed has several lives, one
 * after the other, and each is a runner of its own: the first is named by the pod's uid, life N by `<uid>_<N>`. Not
 * `<uid>.<N>`: a dot separates the tokens of a subject, so the first life could subscribe to the orders of all others.
 */
export interface RunnerId {
  podUid: string;
  life: number;
}

/** More than the jobs that a pod may run, and each life runs at least one. */
export const MAX_LIFE = 1_000_000;

const FORM = /^([0-9A-Za-z-]{1,64})(?:_([1-9][0-9]{0,6}))?$/;

export const makeRunnerId = ({ podUid, life }: RunnerId): string => (life === 0 ? podUid : `${podUid}_${life}`);

/** Undefined if it names no runner. */
export function parseRunnerId(id: string): RunnerId | undefined {
  const [, podUid, life = '0'] = FORM.exec(id) ?? [];
  return podUid === undefined || Number(life) > MAX_LIFE ? undefined : { podUid, life: Number(life) };
}

/** The uid of its pod; the id itself if it names no runner, and so no pod. */
export const podOf = (id: string): string => parseRunnerId(id)?.podUid ?? id;
export const lifeOf = (id: string): number => parseRunnerId(id)?.life ?? 0;

/** A life as an annotation or environment variable has it; undefined if it is not one. */
export function lifeIn(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return 0;
  const life = /^(0|[1-9][0-9]{0,6})$/.test(text) ? Number(text) : Number.NaN;
  return life <= MAX_LIFE ? life : undefined;
}

/** The name under which an agent connects to NATS states its life, if it is not the first. */
export const connectionName = (pod: string, life: number): string =>
  life === 0 ? `runner/${pod}` : `runner/${pod}/${life}`;
export const lifeStated = (name: string | undefined): number | undefined => lifeIn((name ?? '').split('/')[2]);
