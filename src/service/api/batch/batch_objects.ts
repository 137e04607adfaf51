/**
 * Makes and follows the batches of ProbeBatches: the replica that drives the batches does. Each round compares objects
 * and record, so a round that was cut short, or made by two replicas, is made good by the next. What a status says is
 * never believed: the record says which batch an object has.
 */
import { pause } from '../../../base/retry.ts';
import { Rest } from '../../../base/rest.ts';
import { isKubeError, PROBE_BATCHES, type KubeClient } from '../../../platform/kube/client.ts';
import { isTrue } from '../../../platform/kube/conditions.ts';
import { keyOf } from '../../../platform/kube/kinds.ts';
import { isOurs, isOver, managerOf, type ProbeBatch } from '../../../platform/kube/probe_batch.ts';
import { startReflector, type Reflector } from '../../../platform/kube/reflector.ts';
import { ServedNamespaces } from '../../../platform/kube/served_namespaces.ts';
import { slimBatch } from '../../../platform/kube/slim.ts';
import { MULTIKUEUE } from '../../../platform/kube/workload.ts';
import type { LostObject } from '../../../platform/store/batch_objects.ts';
import type { Batch } from '../../../platform/store/batches.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { timeOf } from '../../../platform/store/uuid.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import type { Asker } from '../http/request_context.ts';
import { createOf, limitsOf, mostOf } from './batch_endpoints.ts';
import { batchRequest, makeSlices } from './batch_request.ts';
import { type BatchDriver, mayProbe } from './driver.ts';
import { Queues, type Work } from './kueue.ts';
import { isUnread } from './list_at_address.ts';
import { isSame, type Standing, standingOf, statusOf } from './object_status.ts';
import { type BatchEvent, move } from './states.ts';

const ROUND_MS = 3_000;
/** Between two rounds, however often objects change. */
const GAP_MS = 500;
/** Between two statuses of an object that say the same state. */
const STATUS_MS = 5_000;
/** Between two looks for objects that are gone; one that is seen to go is looked for at once. */
const LOST_MS = 60_000;
const LOST_AT_ONCE = 100;
const WRITES_OF_A_ROUND = 200;
/** Each has up to 10,000 addresses in memory. */
const MOST_CREATING = 4;
const CREATE_MS = 60_000;
const AFTER_FAILURE_MS = 10_000;
/** No creation by another replica takes longer. */
const UNCREATED_MS = 900_000;
/** They may have a megabyte each. */
const PAGE = 20;

const waiting = (reason: string, message: string): Standing => ({ state: 'Waiting', reason, message });
const refused = (reason: string, message: string): Standing => ({ state: 'Refused', reason, message });
const suspended = (reason: string, message: string): Standing => ({ state: 'Suspended', reason, message });

const uidOf = ({ metadata }: ProbeBatch): string => metadata.uid!;
const namespaceOf = ({ metadata }: ProbeBatch): string => metadata.namespace!;

/** Its deletion was asked for, and waits for a finalizer. */
const isGoing = ({ metadata }: ProbeBatch): boolean => metadata.deletionTimestamp !== undefined;

/** The oldest first. */
const byAge = (a: ProbeBatch, b: ProbeBatch): number => (ageOf(a) < ageOf(b) ? -1 : 1);
const ageOf = ({ metadata: { creationTimestamp = '', name, namespace } }: ProbeBatch): string =>
  `${creationTimestamp} ${name} ${namespace}`;

export class BatchObjects {
  readonly #deps: Deps;
  readonly #kube: KubeClient;
  readonly #driver: Pick<BatchDriver, 'leads'>;
  readonly #served: ServedNamespaces;
  readonly #stopping = new AbortController();
  readonly #rest = new Rest(this.#stopping.signal);
  readonly #running: Promise<void>;
  readonly #queues: Queues;
  #watched: Reflector<ProbeBatch> | undefined;
  #lookedAt = -Infinity;
  #writes = 0;
  /** By the namespace: one at a time. */
  readonly #creating = new Map<string, Promise<void>>();
  /** By uid, where there is no batch: where it stands, and until when it is not tried again. */
  readonly #outcomes = new Map<string, { standing: Standing; until: number }>();
  readonly #writtenAt = new Map<string, number>();

  constructor(deps: Deps, kube: KubeClient, driver: Pick<BatchDriver, 'leads'>) {
    this.#deps = deps;
    this.#kube = kube;
    this.#driver = driver;
    this.#served = new ServedNamespaces(deps.settings);
    const { kueue, namespace } = deps.settings;
    const queues = { kueue, namespace, watched: this.#served.watched };
    this.#queues = new Queues(kube, queues, deps.log, () => this.#rest.end());
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('this replica is shutting down'));
    await this.#running;
    await Promise.allSettled([...this.#creating.values(), this.#unwatch()]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#rest.begin();
      await this.#turn().catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, 'cannot follow ProbeBatches');
      });
      await pause(GAP_MS, signal);
      await this.#rest.take(ROUND_MS);
    }
  }

  async #turn(): Promise<void> {
    if (!this.#driver.leads || this.#deps.drain.started) return this.#unwatch();
    this.#watched ??= this.#watch();
    this.#queues.begin();
    if (this.#watched.hasSynced()) await this.#round(this.#watched.list().filter((one) => this.#served.serves(one)));
  }

  #watch(): Reflector<ProbeBatch> {
    const changed = (): void => this.#rest.end();
    const gone = (object: ProbeBatch): void => {
      this.#outcomes.delete(uidOf(object));
      this.#writtenAt.delete(uidOf(object));
      this.#queues.forget(object);
      this.#lookedAt = -Infinity;
      this.#rest.end();
    };
    this.#lookedAt = -Infinity;
    const reflector = startReflector({
      client: this.#kube,
      type: PROBE_BATCHES,
      namespace: this.#served.watched,
      only: (object) => this.#served.serves(object),
      transform: slimBatch,
      pageSize: PAGE,
      handlers: { add: changed, update: changed, delete: gone },
      hooks: { failed: (error) => this.#deps.log.warn({ err: error }, 'cannot watch ProbeBatches') },
    });
    reflector.synced.then(changed, () => {});
    return reflector;
  }

  async #unwatch(): Promise<void> {
    const watched = this.#watched;
    this.#watched = undefined;
    await Promise.all([watched?.stop(), this.#queues.end()]);
  }

  async #round(objects: ProbeBatch[]): Promise<void> {
    const { store } = this.#deps;
    await this.#dropLost(objects);
    const open = objects.filter((one) => isOurs(one) && !this.#isSettled(one)).toSorted(byAge);
    const batches = objects.length === 0 ? new Map<string, never>() : await store.batchesOfObjects(open.map(uidOf));
    const live = new Set(open.map(uidOf));
    const followed = [...open, ...objects.filter((one) => !live.has(uidOf(one)) && batches.has(uidOf(one)))];
    this.#writes = 0;
    const slices = makeSlices(() => undefined);
    for (const object of followed) {
      await this.#follow(object, batches.get(uidOf(object)));
      // Thousands that wait hold nobody else up.
      await slices.next();
    }
    for (const object of objects) {
      // Their batch and their status are made in another cluster.
      if (managerOf(object) === MULTIKUEUE && !isOver(object)) await this.#queue(object, undefined);
      if (this.#isOverdue(object)) await this.#delete(object);
    }
  }

  // One object.

  /** There is nothing left to be written, here and to its queue. */
  #isSettled(object: ProbeBatch): boolean {
    const isWritten = object.status?.observedGeneration === object.metadata.generation;
    return isOver(object) && isWritten && this.#queues.isTold(object);
  }

  /** Why nothing of it may run. */
  #heldBy(object: ProbeBatch): Standing | null {
    if (object.spec.suspend) return suspended('Suspended', 'spec.suspend is true');
    return this.#queues.heldBy(object);
  }

  #queue(object: ProbeBatch, batch: Batch | undefined): Promise<void> {
    const { suspend = false, request } = object.spec;
    const { concurrency = null } = request as { concurrency?: number };
    return this.#queues.follow(object, {
      isSuspended: suspend || isGoing(object),
      running: batch?.counts.running ?? 0,
      over: overOf(object, batch),
      count: async () => {
        const token = await this.#tokenFor(object);
        return token ? limitsOf({ concurrency, rate: null }, token).concurrency : 1;
      },
    });
  }

  async #follow(object: ProbeBatch, found: { batch: Batch; account: number | null } | undefined): Promise<void> {
    if (!this.#queues.knows(object)) return;
    const held = this.#heldBy(object);
    await this.#queue(object, found?.batch);
    if (!found) return this.#begin(object, held);
    const { account } = this.#served.bindingOf(object) ?? {};
    if (account !== undefined && account !== found.account) {
      await this.#move(found.batch, 'cancel');
      return this.#write(object, REBOUND, { batch: undefined, held });
    }
    const batch = (await this.#moved(object, found.batch, held)) ?? found.batch;
    this.#outcomes.delete(uidOf(object));
    await this.#write(object, held && batch.state === 'paused' ? held : standingOf(batch), { batch, held });
  }

  /** The object says whether the batch runs, whatever was done to the batch. What stopped by itself needs a change. */
  #moved(object: ProbeBatch, batch: Batch, held: Standing | null): Promise<Batch | null> {
    const { state } = batch;
    if (isGoing(object)) return this.#move(batch, 'cancel');
    if (held) return state === 'running' ? this.#move(batch, 'pause') : Promise.resolve(null);
    const isResumed = state === 'paused' || (state === 'stopped' && isTrue(object.status, 'Suspended'));
    return isResumed ? this.#move(batch, 'resume') : Promise.resolve(null);
  }

  #move({ id, state }: Batch, event: BatchEvent): Promise<Batch | null> {
    const to = move(state, event);
    if (to === null || to === state) return Promise.resolve(null);
    return this.#deps.store.moveBatch({ id, from: [state], to, reason: event === 'cancel' ? 'Cancelled' : null });
  }

  async #begin(object: ProbeBatch, held: Standing | null): Promise<void> {
    const uid = uidOf(object);
    const known = this.#outcomes.get(uid);
    // Its batch is not in the record any more, or was never created.
    if (isOver(object)) return this.#write(object, overAs(object), { batch: undefined, held });
    if (held) return this.#write(object, held, { batch: undefined, held });
    if (isGoing(object)) return;
    if (known && performance.now() < known.until)
      return this.#write(object, known.standing, { batch: undefined, held });
    const namespace = namespaceOf(object);
    if (this.#creating.has(namespace) || this.#creating.size >= MOST_CREATING) return;
    const work = this.#create(object)
      .then((standing) => {
        if (standing) this.#outcomes.set(uid, { standing, until: performance.now() + pauseAfter(standing) });
      })
      .catch((error: unknown) => {
        this.#deps.log.warn({ err: error, object: keyOf(object) }, 'cannot create the batch of a ProbeBatch');
        const standing = waiting('InternalError', 'the batch could not be created, and it is tried again');
        this.#outcomes.set(uid, { standing, until: performance.now() + AFTER_FAILURE_MS });
      })
      .finally(() => {
        this.#creating.delete(namespace);
        // It may have gone meanwhile.
        this.#lookedAt = -Infinity;
        this.#rest.end();
      });
    this.#creating.set(namespace, work);
  }

  /** Null: it has a batch, or is gone. */
  async #create(object: ProbeBatch): Promise<Standing | null> {
    const { store, log } = this.#deps;
    const token = await this.#tokenFor(object);
    if (!token || !mayProbe(token, store.clock.now())) return NO_TOKEN;
    const conditions = { most: mostOf(this.#deps, token), idempotency: null };
    if (await store.foreseenBatch(token.id, conditions)) return TOO_MANY;
    const { name } = object.metadata;
    const whole = await this.#kube.get(PROBE_BATCHES, name, { namespace: namespaceOf(object) }).catch(ifThere);
    if (!whole || uidOf(whole) !== uidOf(object) || whole.spec.suspend) return null;
    const { allowed } = await store.takeRate('token', token.id, token.limits.requestsPerMinute);
    if (!allowed) return RATE_LIMITED;
    const place = { uid: uidOf(object), namespace: namespaceOf(object), name };
    const id = await store.batchIdOf(place, store.newRequest().id);
    const outcome = await this.#createdAs(id, whole, token);
    if (outcome === null)
      log.info({ batch: id, object: keyOf(object), user: whole.spec.createdBy }, 'created the batch of a ProbeBatch');
    return outcome;
  }

  #tokenFor(object: ProbeBatch): Promise<TokenRecord | null> {
    const { store } = this.#deps;
    const { account, token = null } = this.#served.bindingOf(object) ?? {};
    return account === undefined ? store.defaultToken() : store.tokenOfAccount(account, token);
  }

  async #createdAs(id: string, { spec: { request } }: ProbeBatch, token: TokenRecord): Promise<Standing | null> {
    const by: Asker = { method: 'POST', state: { token } };
    const gone = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(CREATE_MS)]);
    try {
      const body = { mediaType: 'application/json', text: '', value: request };
      const read = await batchRequest(this.#deps, by, body, gone);
      const conditions = { most: mostOf(this.#deps, token), idempotency: null };
      const { created } = await createOf(this.#deps, by, read, conditions, { id });
      return 'batch' in created ? null : TOO_MANY;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      if (error.status === 429) return waiting('RateLimited', error.message);
      if (isUnread(error)) return waiting(UNREAD, `spec.request: ${error.message}; it is tried again`);
      return refused('InvalidRequest', `spec.request: ${error.message}`);
    }
  }

  // Statuses.

  async #write(
    object: ProbeBatch,
    standing: Standing,
    { batch, held }: { batch: Batch | undefined; held: Standing | null },
  ): Promise<void> {
    const uid = uidOf(object);
    const status = statusOf(object, standing, { batch, held, now: this.#deps.store.clock.now() });
    if (isSame(object.status, status)) return;
    const isDue = performance.now() - (this.#writtenAt.get(uid) ?? -Infinity) >= STATUS_MS;
    if ((!isDue && object.status?.state === standing.state) || this.#writes >= WRITES_OF_A_ROUND) return;
    this.#writes += 1;
    this.#writtenAt.set(uid, performance.now());
    const { name, resourceVersion } = object.metadata;
    await this.#kube
      .mergePatchStatus(PROBE_BATCHES, name, status, { namespace: namespaceOf(object), resourceVersion })
      .catch((error: unknown) => {
        // It has changed, which the watch shows, or is gone.
        this.#writtenAt.delete(uid);
        if (isKubeError(error, 'conflict') || isKubeError(error, 'not-found')) return;
        // A server that refuses one, or is away, takes no other of this round.
        this.#writes = WRITES_OF_A_ROUND;
        this.#deps.log.warn({ err: error, object: keyOf(object) }, 'cannot write the status of a ProbeBatch');
      });
  }

  #isOverdue(object: ProbeBatch): boolean {
    const { spec, status } = object;
    const { ttlSecondsAfterFinished: ttl } = spec;
    if (isGoing(object) || ttl === undefined || !isOurs(object) || !isOver(object) || status?.completedAt === undefined)
      return false;
    return this.#deps.store.clock.now() >= Date.parse(status.completedAt) + ttl * 1_000;
  }

  async #delete(object: ProbeBatch): Promise<void> {
    if (this.#writes >= WRITES_OF_A_ROUND) return;
    this.#writes += 1;
    const { name, uid } = object.metadata;
    await this.#kube.delete(PROBE_BATCHES, name, { namespace: namespaceOf(object), uid }).catch((error: unknown) => {
      // There is a new one of its name.
      if (!isKubeError(error, 'not-found') && !isKubeError(error, 'conflict')) throw error;
    });
  }

  // Objects that are gone, also those that went while no replica ran.

  async #dropLost(objects: readonly ProbeBatch[]): Promise<void> {
    if (performance.now() - this.#lookedAt < LOST_MS) return;
    this.#lookedAt = performance.now();
    const lost = await this.#deps.store.objectsBeside(objects.map(uidOf), LOST_AT_ONCE);
    for (const one of lost) await this.#drop(one);
    if (lost.length === LOST_AT_ONCE) this.#lookedAt = -Infinity;
  }

  async #drop({ uid, namespace, name, batch: id }: LostObject): Promise<void> {
    const { store, log } = this.#deps;
    // Another replica may have seen a newer object.
    const served = this.#served.serves({ metadata: { name, namespace } });
    const there = served ? await this.#kube.get(PROBE_BATCHES, name, { namespace }).catch(ifThere) : undefined;
    if (there?.metadata.uid === uid) return;
    const batch = await store.readBatch(id);
    if (batch && (await this.#move(batch, 'cancel')))
      log.info({ batch: id, object: `${namespace}/${name}` }, 'cancelled the batch of a ProbeBatch that is gone');
    const left = await store.readBatch(id);
    // Of a creation that is under way there is no batch yet. A later try has the id of the first.
    const isUncreated = !this.#creating.has(namespace) && this.#isOld(id);
    const isDone = left ? left.state === 'cancelling' || left.state === 'ended' : isUncreated;
    if (isDone) await store.forgetObject(uid);
  }

  #isOld(id: string): boolean {
    return this.#deps.store.clock.now() - (timeOf(id)?.getTime() ?? 0) > UNCREATED_MS;
  }
}

const UNREAD = 'ListUnreadable';
const UNREAD_MS = 60_000;

function pauseAfter({ state, reason }: Standing): number {
  if (state === 'Refused') return Infinity;
  return reason === UNREAD ? UNREAD_MS : ROUND_MS;
}

const NO_TOKEN = waiting(
  'TokenInactive',
  'the account has no API token that is active and may probe: the default token, or one of the account that the ' +
    'namespace is bound to',
);
const TOO_MANY = waiting('TooManyBatches', 'the account has as many batches, or items of them, as it may have');
const RATE_LIMITED = waiting('RateLimited', 'the requests a minute of the token are used up');
const REBOUND: Standing = {
  state: 'Cancelled',
  reason: 'AccountChanged',
  message: 'the namespace is bound to another account than that of the batch',
};

function overOf(object: ProbeBatch, batch: Batch | undefined): Work['over'] {
  if (batch ? batch.state !== 'ended' : !isOver(object)) return null;
  const { state, message } = batch ? standingOf(batch) : overAs(object);
  return { succeeded: state === 'Completed', message };
}

/** As it ended. */
function overAs({ status }: ProbeBatch): Standing {
  const { reason = '', message = '' } = status?.conditions?.find(({ type }) => type === 'Succeeded') ?? {};
  return { state: status?.state ?? 'Refused', reason, message };
}

function ifThere(error: unknown): undefined {
  if (!isKubeError(error, 'not-found')) throw error;
}
