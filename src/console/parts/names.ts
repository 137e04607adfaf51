/** Names of users and tokens: most answers of the API have their ids alone. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, isFailure } from '../api/client.ts';
import { useCall } from '../api/use_call.ts';
import { visible } from '../../base/visible.ts';

export type Names = ReadonlyMap<number, string>;

/** In one call; a page of the log and a snapshot of the cluster have fewer. */
const MOST_ASKED = 200;

/** Addresses of users, each asked for once; those left over with the next ids. */
export function useUserNames(ids: readonly number[]): Names {
  const [names, setNames] = useState<Names>(new Map());
  const asked = useRef(new Set<number>());
  useEffect(() => {
    const id = [...new Set(ids)].filter((one) => !asked.current.has(one)).slice(0, MOST_ASKED);
    if (id.length === 0) return;
    for (const one of id) asked.current.add(one);
    call('GET user', { query: { id, pagination: { page: 1, limit: MOST_ASKED } } }).then(
      ({ users }) =>
        setNames((before) => new Map([...before, ...users.map(({ id: own, email }) => [own, email] as const)])),
      (error: unknown) => {
        for (const one of id) asked.current.delete(one);
        if (!isFailure(error)) throw error;
      },
    );
  }, [ids.join()]);
  return names;
}

/** Of the user's own tokens: as many as a user may have. */
export function useTokenNames(): Names {
  const { data } = useCall('GET auth/api-token', { query: { pagination: { page: 1, limit: 100 } } });
  return new Map(data?.['api-tokens'].map(({ id, name }) => [id, name === '' ? `token ${id}` : name]));
}

/** Of a filter: each token by its name, behind that of none. */
export const tokenChoices = (tokens: Names, none: string) =>
  [['', none], ...[...tokens].map(([id, name]) => [String(id), visible(name)] as const)] as const;

const found = new Map<string, Promise<number[]>>();

/** Users whose address holds the text. Looked up once in the life of the page. */
export function usersBy(part: string): Promise<number[]> {
  const there = found.get(part);
  if (there) return there;
  const looking = call('GET user', { query: { email: part, pagination: { page: 1, limit: MOST_ASKED } } }).then(
    ({ users }) => users.map(({ id }) => id),
  );
  found.set(part, looking);
  looking.catch(() => found.delete(part));
  return looking;
}
