/** Objects by key, with indexes. Callers must not modify returned objects: they are the cache itself. */
import { keyOf, type KubeObject } from './kinds.ts';

export type IndexFunction<T> = (object: T) => string | readonly string[] | undefined;

const asList = (values: string | readonly string[] | undefined): readonly string[] =>
  values === undefined ? [] : typeof values === 'string' ? [values] : values;

export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #tables: ReadonlyMap<string, { values: IndexFunction<T>; keys: Map<string, Set<string>> }>;

  constructor(indexes: Record<string, IndexFunction<T>> = {}) {
    this.#tables = new Map(
      Object.entries(indexes).map(([name, values]) => [name, { values, keys: new Map<string, Set<string>>() }]),
    );
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  /** Objects for which the named index function returned this value. */
  by(index: string, value: string): T[] {
    return [...this.#keysBy(index, value)].map((key) => this.#objects.get(key)!);
  }

  countBy(index: string, value: string): number {
    return this.#keysBy(index, value).size;
  }

  set(object: T): T | undefined {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    if (before !== undefined) this.#unindex(key, before);
    this.#objects.set(key, object);
    for (const { values, keys } of this.#tables.values()) {
      for (const value of asList(values(object))) {
        const set = keys.get(value);
        if (set === undefined) keys.set(value, new Set([key]));
        else set.add(key);
      }
    }
    return before;
  }

  delete(key: string): T | undefined {
    const before = this.#objects.get(key);
    if (before !== undefined) this.#unindex(key, before);
    this.#objects.delete(key);
    return before;
  }

  #unindex(key: string, object: T): void {
    for (const { values, keys } of this.#tables.values()) {
      for (const value of asList(values(object))) {
        const set = keys.get(value);
        set?.delete(key);
        if (set?.size === 0) keys.delete(value);
      }
    }
  }

  #keysBy(index: string, value: string): ReadonlySet<string> {
    const table = this.#tables.get(index);
    if (table === undefined) throw new Error(`no index named ${index}`);
    return table.keys.get(value) ?? NONE;
  }
}

const NONE: ReadonlySet<string> = new Set();
