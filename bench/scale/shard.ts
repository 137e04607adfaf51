/**
 * A shard: what a leader of only some of the accounts sees and does. The product's replica runs in it, unchanged, with
 * a client and a bus of its own:
 *
 * - Of the ProbeJobs it lists and watches those with the shard's label, which follows from the account.
 * - A runner belongs to the one shard that its pod's label names, and a write of this label is a compare-and-set on the
 *   pod. Wherever it is, it counts against the share of `maxPods` of the shard that made it, its home. So all shards
 *   together never make more, and none asks another before it makes one.
 * - Each shard has a Lease of its own, and answers only the heartbeats of its own runners.
 */
import type { Bus } from '../../src/platform/bus/connect.ts';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { podOf } from '../../src/platform/bus/runner_id.ts';
import {
  LEASES,
  PODS,
  PROBE_JOBS,
  PROBE_POOLS,
  type KubeClient,
  type KubeObject,
  type Pod,
  type ResourceType,
} from '../../src/platform/kube/client.ts';
import type { ProbePool } from '../../src/platform/kube/probe_pool.ts';
import { GROUP, LABEL } from '../../src/platform/kube/resource.ts';
import type { RunningTerm } from '../../src/service/controller/term.ts';

export const SHARD = `${GROUP}/shard`;
const HOME = `${GROUP}/home-shard`;

/** Where an account is, for good. */
export const shardOf = (account: number, shards: number): number => account % shards;

interface Place {
  home: number;
  shard: number;
  pool: string;
}

interface Selection {
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** The two types are of one kind, so the object is of the second. */
const is = <T extends KubeObject>(object: KubeObject, type: ResourceType, wanted: ResourceType<T>): object is T =>
  object !== undefined && type.plural === wanted.plural;

export class Shard {
  readonly index: number;
  readonly of: number;
  readonly kube: KubeClient;
  readonly bus: Bus;
  /** Set when its replica has started. */
  term: () => RunningTerm | undefined = () => undefined;
  /** Of each runner pod, by uid. */
  readonly #places = new Map<string, Place>();
  readonly #pools = new Map<string, ProbePool>();
  /** The last heartbeats of runners of other shards, by pod: one that comes is heard at once. */
  readonly #beats = new Map<string, () => void>();

  constructor(kube: KubeClient, bus: Bus, index: number, of: number) {
    this.index = index;
    this.of = of;
    this.kube = { ...kube, ...this.#reads(kube), ...this.#writes(kube) };
    this.bus = { ...bus, serve: this.#serve(bus) };
  }

  /** What the shard may have of a pool, and has. */
  room(pool: string): { share: number; used: number; lent: number; borrowed: number } {
    const places = [...this.#places.values()].filter((place) => place.pool === pool);
    const count = (which: (place: Place) => boolean): number => places.filter(which).length;
    return {
      share: this.#shareOf(this.#pools.get(pool)?.spec.maxPods ?? 0),
      used: count(({ shard }) => shard === this.index),
      lent: count(({ home, shard }) => home === this.index && shard !== this.index),
      borrowed: count(({ home, shard }) => home !== this.index && shard === this.index),
    };
  }

  homeOf(podUid: string): number | undefined {
    return this.#places.get(podUid)?.home;
  }

  /** The first shards get one more of what cannot be divided. */
  #shareOf(whole: number): number {
    return Math.floor(whole / this.of) + (this.index < whole % this.of ? 1 : 0);
  }

  #sized(pool: ProbePool): ProbePool {
    const { share, lent, borrowed } = this.room(pool.metadata.name);
    const maxPods = share - lent + borrowed;
    const minReady = Math.min(this.#shareOf(pool.spec.minReady), maxPods);
    // The status, and the term in it, belong to the first shard.
    const { status, ...rest } = pool;
    return { ...rest, spec: { ...pool.spec, maxPods, minReady }, ...(this.index === 0 && status ? { status } : {}) };
  }

  #resize(pool: string): void {
    const whole = this.#pools.get(pool);
    const state = this.term()?.pools.byName.get(pool);
    if (!whole || !state) return;
    state.pool = { ...state.pool, spec: this.#sized(whole).spec };
    this.term()?.pools.plan(state);
  }

  /** Whether the pod is the shard's own from now on. */
  #placed({ metadata: { uid = '', labels = {} } }: Pod, gone: boolean): boolean {
    // The pod of a proof.
    if (labels[SHARD] === undefined) return true;
    const place = { home: Number(labels[HOME]), shard: Number(labels[SHARD]), pool: labels[LABEL.pool] ?? '' };
    if (gone) this.#places.delete(uid);
    else this.#places.set(uid, place);
    if (gone) this.#beats.delete(uid);
    this.#resize(place.pool);
    return place.shard === this.index;
  }

  /** Undefined: not for this shard. */
  #seen<T extends KubeObject>(type: ResourceType<T>, object: T, gone = false): T | undefined {
    if (is(object, type, PODS)) return this.#placed(object, gone) ? object : undefined;
    if (!is(object, type, PROBE_POOLS)) return object;
    this.#pools.set(object.metadata.name, object);
    return this.#sized(object) as KubeObject as T;
  }

  #select<O extends Selection>(type: ResourceType, options: O): O {
    if (type.plural === PROBE_JOBS.plural) return { ...options, labelSelector: `${SHARD}=${this.index}` };
    if (type.plural !== LEASES.plural) return options;
    return { ...options, fieldSelector: `${options.fieldSelector}-${this.index}` };
  }

  #nameOf(type: ResourceType, name: string): string {
    return type.plural === LEASES.plural ? `${name}-${this.index}` : name;
  }

  #reads(kube: KubeClient): Pick<KubeClient, 'get' | 'list' | 'watch'> {
    return {
      get: (type, name, options) => kube.get(type, this.#nameOf(type, name), options),
      list: async (type, options = {}) => {
        const page = await kube.list(type, this.#select(type, options));
        return { ...page, items: page.items.flatMap((object) => this.#seen(type, object) ?? []) };
      },
      watch: (type, options, onEvent) =>
        kube.watch(type, this.#select(type, options), (event) => {
          if (event.type === 'BOOKMARK') return onEvent(event);
          const object = this.#seen(type, event.object, event.type === 'DELETED');
          // One that went to another shard is as good as deleted.
          onEvent(object === undefined ? { type: 'DELETED', object: event.object } : { ...event, object });
          const uid = event.object.metadata.uid ?? '';
          if (object === undefined || !this.#beats.has(uid)) return;
          this.#beats.get(uid)?.();
          this.#beats.delete(uid);
        }),
    };
  }

  #writes(kube: KubeClient): Pick<KubeClient, 'create' | 'mergePatch' | 'mergePatchStatus'> {
    const own = { [SHARD]: String(this.index), [HOME]: String(this.index) };
    return {
      create: (type, object, options) => {
        const { metadata } = object;
        const labels = type.plural === PODS.plural ? { ...metadata.labels, ...own } : metadata.labels;
        const named = { ...metadata, name: this.#nameOf(type, metadata.name), ...(labels ? { labels } : {}) };
        return kube.create(type, { ...object, metadata: named }, options);
      },
      mergePatch: (type, name, body, options) => kube.mergePatch(type, this.#nameOf(type, name), body, options),
      mergePatchStatus: (type, name, status, options) =>
        type.plural === PROBE_POOLS.plural && this.index > 0
          ? Promise.resolve({ metadata: { name }, status } as KubeObject as never)
          : kube.mergePatchStatus(type, name, status, options),
    };
  }

  #serve(bus: Bus): Bus['serve'] {
    return (subject, handler, options) => {
      if (subject !== SUBJECT.heartbeats) return bus.serve(subject, handler, options);
      const handle: typeof handler = (received) => {
        const podUid = podOf(received.subject.slice(SUBJECT.heartbeat('').length));
        if (this.#places.get(podUid)?.shard === this.index) return handler(received);
        this.#beats.set(podUid, () => void handler(received));
        return undefined;
      };
      return bus.serve(subject, handle, options);
    };
  }
}
