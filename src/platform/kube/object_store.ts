/** Objects by key, with indexes. Callers must not modify returned objects: they are the cache itself. */
import { keyOf, type KubeObject } from './kinds.ts';

export type IndexFunction<T> = (object: T) => string | readonly string[] | undefined;

export interface ObjectStore<T extends KubeObject> {
  get(key: string): T | undefined;
  list(): T[];
  /** Objects for which the named index function returned this value. */
  by(index: string, value: string): T[];
  countBy(index: string, value: string): number;
  keys(): IterableIterator<string>;
  readonly size: number;
}

export interface WritableStore<T extends KubeObject> extends ObjectStore<T> {
  set(object: T): T | undefined;
  delete(key: string): T | undefined;
}

const asList = (values: string | readonly string[] | undefined): readonly string[] =>
  values === undefined ? [] : typeof values === 'string' ? [values] : values;

export function objectStore<T extends KubeObject>(indexes: Record<string, IndexFunction<T>> = {}): WritableStore<T> {
  const objects = new Map<string, T>();
  const tables = new Map(
    Object.entries(indexes).map(([name, values]) => [name, { values, keys: new Map<string, Set<string>>() }]),
  );

  function unindex(key: string, object: T): void {
    for (const { values, keys } of tables.values()) {
      for (const value of asList(values(object))) {
        const set = keys.get(value);
        set?.delete(key);
        if (set?.size === 0) keys.delete(value);
      }
    }
  }

  function keysBy(index: string, value: string): ReadonlySet<string> | undefined {
    const table = tables.get(index);
    if (table === undefined) throw new Error(`no index named ${index}`);
    return table.keys.get(value);
  }

  return {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    keys: () => objects.keys(),
    by: (index, value) => [...(keysBy(index, value) ?? [])].map((key) => objects.get(key)!),
    countBy: (index, value) => keysBy(index, value)?.size ?? 0,
    get size() {
      return objects.size;
    },
    set(object) {
      const key = keyOf(object);
      const before = objects.get(key);
      if (before !== undefined) unindex(key, before);
      objects.set(key, object);
      for (const { values, keys } of tables.values()) {
        for (const value of asList(values(object))) {
          const set = keys.get(value);
          if (set === undefined) keys.set(value, new Set([key]));
          else set.add(key);
        }
      }
      return before;
    },
    delete(key) {
      const before = objects.get(key);
      if (before !== undefined) unindex(key, before);
      objects.delete(key);
      return before;
    },
  };
}
