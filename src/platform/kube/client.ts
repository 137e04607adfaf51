/**
 * Typed calls to the API server, over shared connections. Objects are plain JSON, every call has a deadline, every
 * failure is a KubeError.
 */
import type { Config } from '../../base/config.ts';
import { type Call, callJson, callText, type Query, watch, type WatchEvent } from './call.ts';
import { SharedKubeConfig, type ConnectionOptions } from './connection.ts';
import { ofServiceAccount } from './credentials.ts';
import { apiVersionOf, pathOf, PODS, type KubeObject, type ResourceType } from './kinds.ts';

export * from './kinds.ts';
export { KubeError, isKubeError, isOverQuota, isPolicyNotReady, outcomeUnknown, type KubeErrorCode } from './errors.ts';
export type { WatchEvent } from './call.ts';

export interface CallOptions {
  /** Default: the client's own namespace. */
  namespace?: string | undefined;
  deadlineMs?: number | undefined;
  /** Bounds when a write can still take effect (see Call). */
  serverTimeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface ListOptions extends Omit<CallOptions, 'namespace'> {
  /** `null`: all namespaces. */
  namespace?: string | null | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  limit?: number | undefined;
  continue?: string | undefined;
  /** '0': any version in the server's memory. Absent: the most recent, read through etcd's quorum. */
  resourceVersion?: string | undefined;
}

export interface Page<T> {
  items: T[];
  resourceVersion: string;
  continue: string | undefined;
  /** How many objects follow this page. The server does not count them if a selector is given. */
  remaining: number;
}

export interface PatchOptions extends CallOptions {
  /** Fails with `conflict` if the object has changed since this version. */
  resourceVersion?: string | undefined;
  /** Nothing is written. */
  dryRun?: boolean | undefined;
}

export interface DeleteOptions extends CallOptions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  gracePeriodSeconds?: number | undefined;
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined;
}

export interface ApplyOptions extends CallOptions {
  fieldManager: string;
  /** Takes over fields from other managers. */
  force?: boolean;
}

export interface LogOptions extends CallOptions {
  container?: string;
  limitBytes?: number;
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue' | 'signal' | 'deadlineMs'> {
  signal: AbortSignal;
  timeoutSeconds?: number;
  allowWatchBookmarks?: boolean;
  onOpen?: () => void;
}

/** An object to write: apiVersion and kind come from its type. */
export type Draft<T extends KubeObject> = Omit<T, 'apiVersion' | 'kind' | 'status' | 'metadata'> & {
  metadata: T['metadata'];
  status?: unknown;
};

interface ListBody<T> {
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: T[];
}
interface Patch {
  metadata?: object;
  [member: string]: unknown;
}

/** What a call deletes comes back with its answer. */
const METADATA_ALONE = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

export type KubeClient = ReturnType<typeof clientOf>;

/** Throws if the credentials cannot be read. */
export function makeClient({ namespace, ...options }: ConnectionOptions & { namespace: string }): KubeClient {
  const config = new SharedKubeConfig(options);
  config.access();
  return clientOf(config, namespace);
}

/** Signs in as the pod that this process runs in. */
export const clientOfPod = (config: Pick<Config<'api'>, 'namespace' | 'serviceAccount'>): KubeClient =>
  makeClient({ namespace: config.namespace, credentials: ofServiceAccount(config.serviceAccount) });

const bounds = ({ deadlineMs, serverTimeoutMs, signal }: CallOptions) => ({ deadlineMs, serverTimeoutMs, signal });

/** The path of an object, or of all of a namespace; null: of all namespaces, undefined: of the client's own. */
type PathTo = (type: ResourceType, namespace?: string | null, name?: string, subresource?: string) => string;

const clientOf = (config: SharedKubeConfig, namespace: string) => {
  const pathTo: PathTo = (type, wanted = namespace, name, subresource) =>
    pathOf(type, wanted ?? undefined, name, subresource);
  return {
    config,
    namespace,
    ...readsOf(config, pathTo),
    ...writesOf(config, pathTo),
    ...patchesOf(config, pathTo),
    ...deletesOf(config, pathTo),
    ...otherCallsOf(config, pathTo),
    close: (): Promise<void> => config.close(),
    [Symbol.asyncDispose]: (): Promise<void> => config.close(),
  };
};

function readsOf(config: SharedKubeConfig, pathTo: PathTo) {
  const get = <T extends KubeObject>(type: ResourceType<T>, name: string, options: CallOptions = {}): Promise<T> =>
    callJson<T>(config, {
      method: 'GET',
      path: pathTo(type, options.namespace, name),
      ...bounds(options),
      what: `get ${type.kind} ${name}`,
    });

  async function list<T extends KubeObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<Page<T>> {
    const { namespace, deadlineMs, serverTimeoutMs, signal, ...query } = options;
    const body = await callJson<ListBody<T>>(config, {
      method: 'GET',
      path: pathTo(type, namespace),
      query: query as Query,
      ...bounds({ deadlineMs: deadlineMs ?? 30_000, serverTimeoutMs, signal }),
      what: `list ${type.plural}`,
    });
    return {
      items: body.items,
      resourceVersion: body.metadata.resourceVersion,
      continue: body.metadata.continue || undefined,
      remaining: body.metadata.remainingItemCount ?? 0,
    };
  }

  /**
   * Lists all pages. If a continue token expires between pages (`gone`), the caller must start again, because pages of
   * two snapshots must not be mixed.
   */
  async function listAll<T extends KubeObject>(
    type: ResourceType<T>,
    options: Omit<ListOptions, 'continue'> = {},
  ): Promise<Page<T>> {
    const all: T[] = [];
    let page = await list(type, { limit: 500, ...options });
    for (;;) {
      for (const item of page.items) all.push(item);
      if (page.continue === undefined)
        return { items: all, resourceVersion: page.resourceVersion, continue: undefined, remaining: 0 };
      const { resourceVersion: _, ...rest } = options;
      page = await list(type, { limit: 500, ...rest, continue: page.continue });
    }
  }

  /** A single watch, until the server or the signal ends it. reflector.ts maintains a cache. */
  function watchOnce<T extends KubeObject>(
    type: ResourceType<T>,
    options: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void> {
    const { namespace, signal, serverTimeoutMs: _, onOpen, ...query } = options;
    return watch<T>(
      config,
      { path: pathTo(type, namespace), query: query as Query, signal, what: `watch ${type.plural}` },
      onEvent,
      onOpen,
    );
  }

  return { get, list, listAll, watch: watchOnce };
}

function writesOf(config: SharedKubeConfig, pathTo: PathTo) {
  const whole = <T extends KubeObject>(type: ResourceType<T>, object: Draft<T>): object => ({
    ...object,
    apiVersion: apiVersionOf(type),
    kind: type.kind,
  });

  const create = <T extends KubeObject>(
    type: ResourceType<T>,
    object: Draft<T>,
    options: CallOptions & { dryRun?: boolean } = {},
  ): Promise<T> =>
    callJson<T>(config, {
      method: 'POST',
      path: pathTo(type, options.namespace ?? object.metadata.namespace),
      query: { dryRun: options.dryRun ? 'All' : undefined },
      body: whole(type, object),
      ...bounds(options),
      what: `create ${type.kind} ${object.metadata.name}`,
    });

  const apply = <T extends KubeObject>(type: ResourceType<T>, object: Draft<T>, options: ApplyOptions): Promise<T> =>
    callJson<T>(config, {
      method: 'PATCH',
      path: pathTo(type, options.namespace ?? object.metadata.namespace, object.metadata.name),
      query: { fieldManager: options.fieldManager, force: options.force || undefined },
      body: whole(type, object),
      contentType: 'application/apply-patch+yaml',
      ...bounds(options),
      what: `apply ${type.kind} ${object.metadata.name}`,
    });

  return { create, apply };
}

function patchesOf(config: SharedKubeConfig, pathTo: PathTo) {
  function patch<T extends KubeObject>(
    type: ResourceType<T>,
    name: string,
    body: Patch,
    options: PatchOptions,
    subresource?: string,
  ): Promise<T> {
    const guarded =
      options.resourceVersion === undefined
        ? body
        : { ...body, metadata: { ...body.metadata, resourceVersion: options.resourceVersion } };
    return callJson<T>(config, {
      method: 'PATCH',
      path: pathTo(type, options.namespace, name, subresource),
      query: { dryRun: options.dryRun === true ? 'All' : undefined },
      body: guarded,
      contentType: 'application/merge-patch+json',
      ...bounds(options),
      what: `patch ${type.kind} ${name}`,
    });
  }

  const mergePatch = <T extends KubeObject>(
    type: ResourceType<T>,
    name: string,
    body: Patch,
    options: PatchOptions = {},
  ): Promise<T> => patch(type, name, body, options);

  /** `status` is merged into the object's status; lists in it are replaced as a whole. */
  const mergePatchStatus = <T extends KubeObject>(
    type: ResourceType<T>,
    name: string,
    status: object,
    options: PatchOptions = {},
  ): Promise<T> => patch(type, name, { status }, options, type.statusInObject ? undefined : 'status');

  return { mergePatch, mergePatchStatus };
}

function deletesOf(config: SharedKubeConfig, pathTo: PathTo) {
  async function remove<T extends KubeObject>(
    type: ResourceType<T>,
    name: string,
    options: DeleteOptions = {},
  ): Promise<void> {
    const { uid, resourceVersion, gracePeriodSeconds, propagationPolicy } = options;
    const preconditions = uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
    await callText(config, {
      method: 'DELETE',
      path: pathTo(type, options.namespace, name),
      body: { preconditions, gracePeriodSeconds, propagationPolicy },
      ...bounds(options),
      what: `delete ${type.kind} ${name}`,
    });
  }

  /** Deletes the objects with these fields by one call. The server looks at all, and deletes one at a time. */
  async function deleteAll(type: ResourceType, fieldSelector: string, options: CallOptions = {}): Promise<void> {
    await callText(config, {
      method: 'DELETE',
      path: pathTo(type, options.namespace),
      query: { fieldSelector },
      accept: METADATA_ALONE,
      ...bounds({ ...options, deadlineMs: options.deadlineMs ?? 30_000 }),
      what: `delete ${type.plural}`,
    });
  }

  return { delete: remove, deleteAll };
}

function otherCallsOf(config: SharedKubeConfig, pathTo: PathTo) {
  /** For calls without a function of their own. */
  const request = <T>(call: Call): Promise<T> => callJson<T>(config, call);

  const logs = (pod: string, options: LogOptions = {}): Promise<string> =>
    callText(config, {
      method: 'GET',
      path: pathTo(PODS, options.namespace, pod, 'log'),
      query: {
        container: options.container,
        limitBytes: options.limitBytes,
      },
      ...bounds(options),
      what: `logs of pod ${pod}`,
    });

  /** The keys with which the cluster signs service account tokens. */
  const jwks = (): Promise<{ keys: Record<string, unknown>[] }> => request({ method: 'GET', path: '/openid/v1/jwks' });

  const issuer = async (): Promise<string> =>
    (await request<{ issuer: string }>({ method: 'GET', path: '/.well-known/openid-configuration' })).issuer;

  return { request, logs, jwks, issuer };
}
