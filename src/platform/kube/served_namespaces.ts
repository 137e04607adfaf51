/**
 * The namespaces whose ProbeJobs this release runs: its own, and those of tenants, each of which the chart's value
 * `tenants.namespaces` binds to an account.
 */
import type { NamespaceBinding } from '../../base/config.ts';
import { keyOf } from './kinds.ts';
import type { ProbeJob } from './probe_job.ts';
import { slimJob } from './slim.ts';

/**
 * Names a ProbeJob in the leader, in orders, heartbeats and results: its name in the namespace of the release, and
 * `namespace/name` in one of a tenant.
 */
export type JobKey = string;

interface Named {
  metadata: Pick<ProbeJob['metadata'], 'name' | 'namespace'>;
}

/** Of the object with this key. */
export const nameOf = (key: JobKey): string => key.slice(key.indexOf('/') + 1);

export class ServedNamespaces {
  readonly #home: string;
  readonly #bindings: ReadonlyMap<string, NamespaceBinding>;

  constructor({ namespace, tenantNamespaces }: { namespace: string; tenantNamespaces: readonly NamespaceBinding[] }) {
    this.#home = namespace;
    this.#bindings = new Map(tenantNamespaces.map((binding) => [binding.name, binding]));
  }

  /** What is listed and watched; null: all namespaces, of which `serves` leaves out those that are not bound. */
  get watched(): string | null {
    return this.#bindings.size === 0 ? this.#home : null;
  }

  /** Undefined: not of a tenant. */
  bindingOf({ metadata }: Named): NamespaceBinding | undefined {
    return this.#bindings.get(metadata.namespace ?? this.#home);
  }

  serves(job: Named): boolean {
    return this.#isAtHome(job) || this.bindingOf(job) !== undefined;
  }

  keyOf(job: Named): JobKey {
    return this.#isAtHome(job) ? job.metadata.name : keyOf(job);
  }

  /** As `keyOf` of the caches has it. */
  cacheKeyOf(key: JobKey): string {
    return key.includes('/') ? key : `${this.#home}/${key}`;
  }

  /**
   * As every job is read. The API creates its jobs in the release's namespace: elsewhere a token is a forgery, and
   * would make the name of the job the id of its request.
   */
  received(job: ProbeJob): ProbeJob {
    if (!this.#isAtHome(job)) delete job.spec.token;
    return slimJob(job);
  }

  #isAtHome({ metadata }: Named): boolean {
    return metadata.namespace === undefined || metadata.namespace === this.#home;
  }
}
