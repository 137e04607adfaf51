/**
 * A self-repairing cache of one kind of object: LIST in pages, then WATCH from there, repeated forever. client-node's
 * informer ends at the first error and never requests bookmarks, and a silently dead watch hangs it forever.
 */
import { backoff, pause, type Pauses } from '../../base/retry.ts';
import type { KubeClient, WatchEvent } from './client.ts';
import { isKubeError, KubeError } from './errors.ts';
import { keyOf, type KubeObject, type ResourceType } from './kinds.ts';
import { objectStore, type IndexFunction, type ObjectStore } from './object_store.ts';
import { withoutManagedFields } from './slim.ts';

export interface Handlers<T> {
  /** `relist`: found by a LIST (including the first), so it has a lower priority than an event. */
  add?(object: T, info: { relist: boolean }): void;
  update?(object: T, before: T, info: { relist: boolean }): void;
  /** `finalStateUnknown`: the deletion itself was missed; the object is its last known state. */
  delete?(object: T, info: { finalStateUnknown: boolean }): void;
}

/** Callbacks for metrics and logs. */
export interface ReflectorHooks {
  listed?(info: { reason: string; objects: number; ms: number }): void;
  event?(type: string): void;
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

export interface Reflector<T extends KubeObject> extends ObjectStore<T> {
  /** Resolves after the first LIST and its add handlers; rejects if stopped before. */
  readonly synced: Promise<void>;
  hasSynced(): boolean;
  /** The resourceVersion that the cache has reached. */
  version(): number;
  /** Whether the cache includes a write, by the resourceVersion that the write returned. */
  includes(resourceVersion: string | undefined): boolean;
  /** False if the deadline passed first. */
  waitFor(resourceVersion: string | undefined, deadlineMs: number): Promise<boolean>;
  /** Starts a fresh, consistent LIST; resolves when it is in the cache. */
  relist(): Promise<void>;
  /** Milliseconds since anything was received, bookmarks included. */
  silentMs(): number;
  stop(): Promise<void>;
}

const numberOf = (resourceVersion: string | undefined): number =>
  resourceVersion === undefined ? 0 : Number(resourceVersion);

export function startReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  const { client, type, handlers = {}, hooks = {}, pageSize = 500, silenceMs = 100_000 } = options;
  const {
    transform = withoutManagedFields,
    keep = (object) => object,
    watchSeconds = () => Math.round(300 + Math.random() * 300),
  } = options;
  const scope = {
    namespace: options.namespace,
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
  };
  const store = objectStore<T>(options.indexes);
  const wait = backoff(options.pauses ?? { first: 800, longest: 30_000 });
  const stopping = new AbortController();
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});
  let synced = false;
  let version = 0;
  let heardAt = performance.now();
  let relistReason: string | undefined = 'start';
  let watching: AbortController | undefined;
  let waiters: { version: number; done: () => void }[] = [];
  let relisters: (() => void)[] = [];

  /** An exception in a handler is reported, and the cache continues. */
  function tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      hooks.failed?.(error);
    }
  }

  function advance(to: number): void {
    if (to > version) version = to;
    if (waiters.length === 0) return;
    const [due, rest] = [
      waiters.filter((waiter) => waiter.version <= version),
      waiters.filter((waiter) => waiter.version > version),
    ];
    waiters = rest;
    for (const waiter of due) waiter.done();
  }

  function put(received: T, relist: boolean): void {
    const object = transform(received);
    const before = store.set(keep(object));
    if (before === undefined) tell(() => handlers.add?.(object, { relist }));
    else if (before.metadata.uid !== object.metadata.uid) {
      tell(() => handlers.delete?.(before, { finalStateUnknown: true }));
      tell(() => handlers.add?.(object, { relist }));
    } else if (before.metadata.resourceVersion !== object.metadata.resourceVersion)
      tell(() => handlers.update?.(object, before, { relist }));
  }

  function drop(key: string, last: T | undefined, finalStateUnknown: boolean): void {
    const before = store.delete(key);
    if (before !== undefined) tell(() => handlers.delete?.(last ?? before, { finalStateUnknown }));
  }

  async function list(reason: string): Promise<void> {
    const startedAt = performance.now();
    // Requests that arrive during this LIST need another one.
    const served = relisters;
    relisters = [];
    let listedAt = 0;
    try {
      const present = new Set<string>();
      let next: string | undefined;
      // Stored page by page: the raw data of 50,000 objects would not fit in memory twice.
      do {
        const page = await client.list(type, { ...scope, limit: pageSize, continue: next, signal: stopping.signal });
        for (const object of page.items) {
          const key = keyOf(object);
          present.add(key);
          if (store.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion) put(object, true);
        }
        listedAt = numberOf(page.resourceVersion);
        next = page.continue;
      } while (next !== undefined);
      for (const key of store.keys()) if (!present.has(key)) drop(key, undefined, true);
      version = listedAt;
      advance(listedAt);
      heardAt = performance.now();
      hooks.listed?.({ reason, objects: present.size, ms: heardAt - startedAt });
    } catch (error) {
      relisters = [...served, ...relisters];
      throw error;
    }
    if (!synced) {
      synced = true;
      ready.resolve();
    }
    for (const done of served) done();
  }

  function onEvent(event: WatchEvent<T>): void {
    heardAt = performance.now();
    hooks.event?.(event.type);
    const seen = numberOf(event.object.metadata.resourceVersion);
    if (event.type === 'DELETED') drop(keyOf(event.object), transform(event.object), false);
    else if (event.type !== 'BOOKMARK') put(event.object, false);
    advance(seen);
  }

  async function follow(): Promise<void> {
    const abort = new AbortController();
    watching = abort;
    const openedAt = performance.now();
    const from = version;
    heardAt = openedAt;
    let silent = false;
    const watchdog = setInterval(
      () => {
        if (performance.now() - heardAt < silenceMs) return;
        silent = true;
        abort.abort();
      },
      Math.max(silenceMs / 10, 20),
    );
    try {
      await client.watch(
        type,
        {
          ...scope,
          resourceVersion: String(version),
          allowWatchBookmarks: true,
          timeoutSeconds: watchSeconds(),
          signal: abort.signal,
        },
        onEvent,
      );
      // A server that repeatedly accepts a watch and ends it at once is unhealthy.
      if (performance.now() - openedAt < 1000 && version === from)
        throw new KubeError('broken-stream', `watch ${type.plural}: ended at once`);
      wait.reset();
      hooks.watchEnded?.('end');
    } catch (error) {
      if (version !== from) wait.reset();
      if (silent) throw new KubeError('timeout', `watch ${type.plural}: silent for ${silenceMs} ms`);
      throw error;
    } finally {
      clearInterval(watchdog);
      watching = undefined;
    }
  }

  async function run(): Promise<void> {
    let relistedAfterGone = false;
    while (!stopping.signal.aborted) {
      try {
        if (relistReason !== undefined) {
          await list(relistReason);
          relistReason = undefined;
        }
        // Requested during the LIST, when there was no watch to end.
        if (relisters.length > 0) relistReason = 'asked';
        else await follow();
        relistedAfterGone = false;
      } catch (error) {
        if (stopping.signal.aborted) break;
        if (relisters.length > 0 && isKubeError(error, 'aborted')) {
          relistReason = 'asked';
          continue;
        }
        hooks.watchEnded?.(isKubeError(error) ? error.code : 'error');
        hooks.failed?.(error);
        if (isKubeError(error, 'gone')) {
          relistReason = 'gone';
          // The history was discarded: list at once. Twice in a row indicates a fault.
          if (!relistedAfterGone) {
            relistedAfterGone = true;
            continue;
          }
        }
        await pause(Math.max(wait.next(), isKubeError(error) ? (error.retryAfterMs ?? 0) : 0), stopping.signal);
      }
    }
  }

  stopping.signal.addEventListener('abort', () => watching?.abort());
  const running = run();

  return {
    synced: ready.promise,
    hasSynced: () => synced,
    version: () => version,
    includes: (resourceVersion) => numberOf(resourceVersion) <= version,
    waitFor(resourceVersion, deadlineMs) {
      const wanted = numberOf(resourceVersion);
      if (wanted <= version) return Promise.resolve(true);
      return new Promise((resolve) => {
        const waiter = {
          version: wanted,
          done: () => {
            clearTimeout(timer);
            resolve(true);
          },
        };
        const timer = setTimeout(() => {
          waiters = waiters.filter((other) => other !== waiter);
          resolve(false);
        }, deadlineMs);
        waiters.push(waiter);
      });
    },
    relist: () =>
      new Promise((resolve) => {
        relisters.push(resolve);
        watching?.abort();
      }),
    silentMs: () => performance.now() - heardAt,
    get: store.get,
    list: store.list,
    by: store.by,
    countBy: store.countBy,
    keys: store.keys,
    get size() {
      return store.size;
    },
    async stop() {
      stopping.abort();
      if (!synced) ready.reject(new KubeError('aborted', `cache of ${type.plural}: stopped`));
      for (const done of relisters) done();
      await running;
    },
  };
}
