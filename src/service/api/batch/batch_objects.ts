/** Makes and follows the batches of ProbeBatches. */
import { PROBE_BATCHES, type KubeClient } from '../../../platform/kube/client.ts';
import { isFinished, isTrue } from '../../../platform/kube/conditions.ts';
import { keyOf } from '../../../platform/kube/kinds.ts';
import type { ProbeBatch } from '../../../platform/kube/probe_batch.ts';
import { isOurs, managerOf } from '../../../platform/kube/resource.ts';
import { slimBatch } from '../../../platform/kube/slim.ts';
import { KUEUE_LABEL, MULTIKUEUE } from '../../../platform/kube/workload.ts';
import type { Batch } from '../../../platform/store/batches.ts';
import type { BatchOfObject } from '../../../platform/store/followed_objects.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Deps } from '../deps.ts';
import { FollowedObjects, isGoing, type Maker, uidOf, type Wait, waiting } from '../objects/followed_objects.ts';
import { createOf, limitsOf, mostOf } from './batch_endpoints.ts';
import { batchRequest, makeSlices } from './batch_request.ts';
import type { BatchDriver } from './driver.ts';
import { Queues } from './kueue.ts';
import { type Standing, standingOf, statusOf } from './object_status.ts';
import { moveBatch } from './states.ts';

const suspended = (reason: string, message: string): Standing => ({ state: 'Suspended', reason, message });

/** The oldest first. */
const byAge = (a: ProbeBatch, b: ProbeBatch): number => (ageOf(a) < ageOf(b) ? -1 : 1);
const ageOf = ({ metadata: { creationTimestamp = '', name, namespace } }: ProbeBatch): string =>
  `${creationTimestamp} ${name} ${namespace}`;

export class BatchObjects extends FollowedObjects<ProbeBatch> {
  protected readonly kind = 'ProbeBatch';
  protected readonly type = PROBE_BATCHES;
  protected readonly slim = slimBatch;
  readonly #queues: Queues;

  constructor(deps: Deps, kube: KubeClient, driver: Pick<BatchDriver, 'leads'>) {
    super(deps, kube, driver);
    const { kueue, namespace } = deps.settings;
    const settings = { kueue, namespace, watched: this.served.watched };
    this.#queues = new Queues(kube, settings, deps.log, () => this.again());
  }

  protected override gone(object: ProbeBatch): void {
    this.#queues.forget(object);
  }

  protected override resting(): Promise<void> {
    return this.#queues.end();
  }

  async #foreseen(token: TokenRecord): Promise<Wait | null> {
    const conditions = { most: mostOf(this.deps, token), idempotency: null };
    return (await this.deps.store.foreseenBatch(token.id, conditions)) ? TOO_MANY : null;
  }

  protected async round(objects: ProbeBatch[]): Promise<void> {
    this.#queues.begin();
    const { store } = this.deps;
    const open = objects.filter((one) => isOurs(one) && !this.#isSettled(one)).toSorted(byAge);
    const batches = objects.length === 0 ? new Map<string, never>() : await store.batchesOfObjects(open.map(uidOf));
    const live = new Set(open.map(uidOf));
    const followed = [...open, ...objects.filter((one) => !live.has(uidOf(one)) && batches.has(uidOf(one)))];
    const slices = makeSlices(() => undefined);
    for (const object of followed) {
      await this.#follow(object, batches.get(uidOf(object)));
      // Thousands that wait hold nobody else up.
      await slices.next();
    }
    for (const object of objects) {
      if (isSentAway(object) && !isFinished(object.status)) await this.#queue(object, undefined);
      if (this.#isOverdue(object)) await this.delete(object);
    }
  }

  // One object.

  /** There is nothing left to be written, here and to its queue. */
  #isSettled(object: ProbeBatch): boolean {
    const isWritten = object.status?.observedGeneration === object.metadata.generation;
    return isFinished(object.status) && isWritten && this.#queues.isTold(object);
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
      over: this.#over(object, batch),
      count: async () => {
        const token = await this.tokenFor(object);
        return token ? limitsOf({ concurrency, rate: null }, token).concurrency : 1;
      },
    });
  }

  /** How it ended, once its object says so: MultiKueue then copies the status, and deletes the object that it sent. */
  #over(object: ProbeBatch, batch: Batch | undefined): Standing | null {
    if (isFinished(object.status)) return (batch?.state ?? 'ended') === 'ended' ? overAs(object) : null;
    // Others keep no quota of their queue while the API server refuses their status.
    const isTold = batch?.state === 'ended' && !isSent(object) && this.isRefused(uidOf(object));
    return isTold ? standingOf(batch) : null;
  }

  async #follow(object: ProbeBatch, found: BatchOfObject | undefined): Promise<void> {
    if (!this.#queues.knows(object)) return;
    const held = this.#heldBy(object);
    await this.#queue(object, found?.batch);
    if (!found) return this.#begin(object, held);
    const { account } = this.served.bindingOf(object) ?? {};
    if (account !== undefined && account !== found.account) {
      await moveBatch(this.deps, found.batch, 'cancel');
      return this.#say(object, REBOUND, { batch: undefined, held });
    }
    const batch = (await this.#moved(object, found.batch, held)) ?? found.batch;
    this.forget(object);
    await this.#say(object, held && batch.state === 'paused' ? held : standingOf(batch), { batch, held });
  }

  /** The object says whether the batch runs, whatever was done to the batch. What stopped by itself needs a change. */
  async #moved(object: ProbeBatch, batch: Batch, held: Standing | null): Promise<Batch | null> {
    const { state } = batch;
    if (isGoing(object)) return moveBatch(this.deps, batch, 'cancel');
    if (held) return state === 'running' ? moveBatch(this.deps, batch, 'pause') : null;
    const isResumed = state === 'paused' || (state === 'stopped' && isTrue(object.status, 'Suspended'));
    return isResumed ? moveBatch(this.deps, batch, 'resume') : null;
  }

  async #begin(object: ProbeBatch, held: Standing | null): Promise<void> {
    // Its batch is not in the record any more, or was never created.
    if (isFinished(object.status)) return this.#say(object, overAs(object), { batch: undefined, held });
    if (held) return this.#say(object, held, { batch: undefined, held });
    if (isGoing(object)) return;
    const standing = this.attempt(object, (token) => this.#foreseen(token));
    if (standing) await this.#say(object, standing, { batch: undefined, held });
  }

  protected async make(whole: ProbeBatch, { token, by, gone, id: idOf }: Maker): Promise<Wait | null> {
    const { request, suspend, createdBy: user } = whole.spec;
    if (suspend) return null;
    const id = await idOf();
    const read = await batchRequest(this.deps, by, { mediaType: 'application/json', text: '', value: request }, gone);
    const conditions = { most: mostOf(this.deps, token), idempotency: null };
    const { created } = await createOf(this.deps, by, read, conditions, { id });
    if (!('batch' in created)) return TOO_MANY;
    this.deps.log.info({ batch: id, object: keyOf(whole), user }, 'created the batch of a ProbeBatch');
    return null;
  }

  protected async end(id: string, object: string): Promise<boolean | null> {
    const { store, log } = this.deps;
    const batch = await store.readBatch(id);
    if (batch && (await moveBatch(this.deps, batch, 'cancel')))
      log.info({ batch: id, object }, 'cancelled the batch of a ProbeBatch that is gone');
    const left = await store.readBatch(id);
    return left && (left.state === 'cancelling' || left.state === 'ended');
  }

  #say(
    object: ProbeBatch,
    standing: Standing,
    { batch, held }: { batch: Batch | undefined; held: Standing | null },
  ): Promise<void> {
    const now = this.deps.store.clock.now();
    return this.write(object, statusOf(object, standing, { batch, held, now }));
  }

  #isOverdue(object: ProbeBatch): boolean {
    const { spec, status } = object;
    const { ttlSecondsAfterFinished: ttl } = spec;
    // MultiKueue would take one that it sent for lost, and begin it anew: it deletes those itself.
    const isAnothers = isSent(object) || (!isOurs(object) && !isSentAway(object));
    if (isGoing(object) || ttl === undefined || isAnothers || !isFinished(object.status)) return false;
    return this.deps.store.clock.now() >= Date.parse(status?.completedAt ?? '') + ttl * 1_000;
  }
}

/** Here by MultiKueue of another cluster, which copies its status. */
const isSent = ({ metadata }: ProbeBatch): boolean => metadata.labels?.[KUEUE_LABEL.origin] !== undefined;
/** Its batch and its status are made in another cluster. */
const isSentAway = (object: ProbeBatch): boolean => managerOf(object) === MULTIKUEUE;

const TOO_MANY = waiting('TooManyBatches', 'the account has as many batches, or items of them, as it may have');
const REBOUND: Standing = {
  state: 'Cancelled',
  reason: 'AccountChanged',
  message: 'the namespace is bound to another account than that of the batch',
};

/** As it ended. */
function overAs({ status }: ProbeBatch): Standing {
  const { reason = '', message = '' } = status?.conditions?.find(({ type }) => type === 'Succeeded') ?? {};
  return { state: status?.state ?? 'Refused', reason, message };
}
