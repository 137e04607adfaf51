/**
 * A self-repairing cache of one kind of object: LIST in pages, then WATCH from there, repeated forever. client-node's
 * informer ends at the first error and never requests bookmarks, and a silently dead watch hangs it forever.
 */
import { backoff, type Backoff, pause, type Pauses } from '../../base/retry.ts';
import type { KubeClient, WatchEvent } from './client.ts';
import { isKubeError, KubeError } from './errors.ts';
import { keyOf, type KubeObject, type ResourceType } from './kinds.ts';
import { withoutManagedFields } from './slim.ts';

// Objects by key, with indexes. Callers must not modify returned objects: they are the cache itself.

type IndexFunction<T> = (object: T) => string | readonly string[] | undefined;

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

export interface Handlers<T> {
  /** `relist`: found by a LIST (including the first), not by an event. */
  add?(object: T, info: { relist: boolean }): void;
  update?(object: T, before: T, info: { relist: boolean }): void;
  /** `finalStateUnknown`: the deletion itself was missed; the object is its last known state. */
  delete?(object: T, info: { finalStateUnknown: boolean }): void;
}

/** Callbacks for metrics and logs. */
export interface ReflectorHooks {
  listed?(info: { reason: string }): void;
  watchEnded?(reason: string): void;
  failed?(error: unknown): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  client: KubeClient;
  type: ResourceType<T>;
  /** `null`: all namespaces. */
  namespace?: string | null | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /** Of what is listed and watched, by what never changes of an object; the others are ignored. */
  only?: ((object: T) => boolean) | undefined;
  /** May modify the object; must keep its metadata. */
  transform?: (object: T) => T;
  /**
   * What the cache holds of an object, with its name, uid and resourceVersion. Handlers get all of an object that was
   * added or changed, and this of its predecessor.
   */
  keep?: (object: T) => T;
  indexes?: Record<string, IndexFunction<T>>;
  handlers?: Handlers<T>;
  hooks?: ReflectorHooks;
  pageSize?: number;
  /** Servers send a bookmark every 45 to 75 s: a watch that is silent for longer is dead. */
  silenceMs?: number;
  watchSeconds?: () => number;
  /** Pauses between failed LISTs and watches. */
  pauses?: Pauses;
}

/** Nobody else writes into the cache. */
export type Reflector<T extends KubeObject> = Omit<RunningReflector<T>, 'set' | 'delete'>;

const numberOf = (resourceVersion: string | undefined): number =>
  resourceVersion === undefined ? 0 : Number(resourceVersion);

export const startReflector = <T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> =>
  new RunningReflector(options);

class RunningReflector<T extends KubeObject> extends ObjectStore<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #scope: Pick<ReflectorOptions<T>, 'namespace' | 'labelSelector' | 'fieldSelector'>;
  readonly #wait: Backoff;
  readonly #stopping = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  #synced = false;
  #version = 0;
  #heardAt = performance.now();
  #relistReason: string | undefined = 'start';
  #watching: AbortController | undefined;
  #relisters: (() => void)[] = [];
  readonly #running: Promise<void>;

  constructor(options: ReflectorOptions<T>) {
    super(options.indexes);
    this.#options = options;
    const { namespace, labelSelector, fieldSelector } = options;
    this.#scope = { namespace, labelSelector, fieldSelector };
    this.#wait = backoff(options.pauses ?? { first: 800, longest: 30_000 });
    this.#ready.promise.catch(() => {});
    this.#stopping.signal.addEventListener('abort', () => this.#watching?.abort());
    this.#running = this.#run();
  }

  /** Resolves after the first LIST and its add handlers; rejects if stopped before. */
  get synced(): Promise<void> {
    return this.#ready.promise;
  }

  hasSynced(): boolean {
    return this.#synced;
  }

  /** The resourceVersion that the cache has reached. */
  version(): number {
    return this.#version;
  }

  /** Starts a fresh, consistent LIST; resolves when it is in the cache. */
  relist(): Promise<void> {
    return new Promise((resolve) => {
      this.#relisters.push(resolve);
      this.#watching?.abort();
    });
  }

  /** Milliseconds since anything was received, bookmarks included. */
  silentMs(): number {
    return performance.now() - this.#heardAt;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    if (!this.#synced) this.#ready.reject(new KubeError('aborted', `cache of ${this.#options.type.plural}: stopped`));
    for (const done of this.#relisters) done();
    await this.#running;
  }

  /** LIST, then WATCH from there, until the stop. */
  async #run(): Promise<void> {
    let relistedAfterGone = false;
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#turn();
        relistedAfterGone = false;
      } catch (error) {
        if (this.#stopping.signal.aborted) break;
        const pauseMs = this.#afterFailure(error, relistedAfterGone);
        relistedAfterGone ||= isKubeError(error, 'gone');
        if (pauseMs > 0) await pause(pauseMs, this.#stopping.signal);
      }
    }
  }

  async #turn(): Promise<void> {
    if (this.#relistReason !== undefined) {
      await this.#list(this.#relistReason);
      this.#relistReason = undefined;
    }
    // Requested during the LIST, when there was no watch to end.
    if (this.#relisters.length > 0) this.#relistReason = 'asked';
    else if (!this.#stopping.signal.aborted) await this.#follow();
  }

  /** How long to wait before the next turn; 0: not at all. */
  #afterFailure(error: unknown, relistedAfterGone: boolean): number {
    const { hooks = {} } = this.#options;
    if (this.#relisters.length > 0 && isKubeError(error, 'aborted')) {
      this.#relistReason = 'asked';
      return 0;
    }
    hooks.watchEnded?.(isKubeError(error) ? error.code : 'error');
    hooks.failed?.(error);
    if (isKubeError(error, 'gone')) {
      this.#relistReason = 'gone';
      // The history was discarded: list at once. Twice in a row indicates a fault.
      if (!relistedAfterGone) return 0;
    }
    return Math.max(this.#wait.next(), isKubeError(error) ? (error.retryAfterMs ?? 0) : 0);
  }

  async #list(reason: string): Promise<void> {
    // Requests that arrive during this LIST need another one.
    const served = this.#relisters;
    this.#relisters = [];
    try {
      const { present, listedAt } = await this.#pages();
      for (const key of this.keys()) if (!present.has(key)) this.#drop(key, undefined, true);
      this.#version = listedAt;
      this.#heardAt = performance.now();
      this.#options.hooks?.listed?.({ reason });
    } catch (error) {
      this.#relisters = [...served, ...this.#relisters];
      throw error;
    }
    if (!this.#synced) {
      this.#synced = true;
      this.#ready.resolve();
    }
    for (const done of served) done();
  }

  /** Stored page by page: the raw data of 50,000 objects would not fit in memory twice. */
  async #pages(): Promise<{ present: ReadonlySet<string>; listedAt: number }> {
    const { client, type, only, pageSize = 500 } = this.#options;
    const { signal } = this.#stopping;
    const present = new Set<string>();
    for (let next: string | undefined; ;) {
      const page = await client.list(type, { ...this.#scope, limit: pageSize, continue: next, signal });
      for (const object of only ? page.items.filter(only) : page.items) {
        const key = keyOf(object);
        present.add(key);
        if (this.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion) this.#put(object, true);
      }
      next = page.continue;
      if (next === undefined) return { present, listedAt: numberOf(page.resourceVersion) };
    }
  }

  async #follow(): Promise<void> {
    const { client, type, hooks = {}, silenceMs = 100_000, watchSeconds = someMinutes } = this.#options;
    const abort = new AbortController();
    this.#watching = abort;
    const openedAt = performance.now();
    const from = this.#version;
    this.#heardAt = openedAt;
    let silent = false;
    const watchdog = setInterval(
      () => {
        if (this.silentMs() < silenceMs) return;
        silent = true;
        abort.abort();
      },
      Math.max(silenceMs / 10, 20),
    );
    const watch = {
      ...this.#scope,
      resourceVersion: String(from),
      allowWatchBookmarks: true,
      timeoutSeconds: watchSeconds(),
      signal: abort.signal,
    };
    try {
      await client.watch(type, watch, (event) => this.#onEvent(event));
      // A server that repeatedly accepts a watch and ends it at once is unhealthy.
      if (performance.now() - openedAt < 1000 && this.#version === from)
        throw new KubeError('broken-stream', `watch ${type.plural}: ended at once`);
      this.#wait.reset();
      hooks.watchEnded?.('end');
    } catch (error) {
      if (this.#version !== from) this.#wait.reset();
      if (silent) throw new KubeError('timeout', `watch ${type.plural}: silent for ${silenceMs} ms`);
      throw error;
    } finally {
      clearInterval(watchdog);
      this.#watching = undefined;
    }
  }

  #onEvent(event: WatchEvent<T>): void {
    this.#heardAt = performance.now();
    if (event.type === 'DELETED') this.#drop(keyOf(event.object), this.#transform(event.object), false);
    else if (event.type !== 'BOOKMARK' && this.#options.only?.(event.object) !== false) this.#put(event.object, false);
    this.#version = Math.max(this.#version, numberOf(event.object.metadata.resourceVersion));
  }

  #transform(object: T): T {
    return (this.#options.transform ?? withoutManagedFields)(object);
  }

  #put(received: T, relist: boolean): void {
    const { handlers = {}, keep } = this.#options;
    const object = this.#transform(received);
    const before = this.set(keep ? keep(object) : object);
    if (before === undefined) this.#tell(() => handlers.add?.(object, { relist }));
    else if (before.metadata.uid !== object.metadata.uid) {
      this.#tell(() => handlers.delete?.(before, { finalStateUnknown: true }));
      this.#tell(() => handlers.add?.(object, { relist }));
    } else if (before.metadata.resourceVersion !== object.metadata.resourceVersion)
      this.#tell(() => handlers.update?.(object, before, { relist }));
  }

  #drop(key: string, last: T | undefined, finalStateUnknown: boolean): void {
    const before = this.delete(key);
    if (before !== undefined) this.#tell(() => this.#options.handlers?.delete?.(last ?? before, { finalStateUnknown }));
  }

  /** An exception in a handler is reported, and the cache continues. */
  #tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.hooks?.failed?.(error);
    }
  }
}

const someMinutes = (): number => Math.round(300 + Math.random() * 300);
