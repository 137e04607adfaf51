/**
 * Leader election on a Lease. The holder counts from when it SENT its last successful renewal, all others from when
 * they SAW it, so the holder's time always ends first, whatever the clocks say. A candidate writes over the record that
 * it judged, and over nothing newer. That alone is no fence: writes carry the epoch, are sent only after
 * stillLeading(), and have a server-side time-out within the margin.
 */
import { randomUUID } from 'node:crypto';
import { DeadlineError, pause, within } from '../../base/retry.ts';
import { LEASES, type KubeClient, type Lease } from './client.ts';
import { isKubeError } from './errors.ts';
import {
  recordOf,
  sight,
  takeableInMs,
  withTerm,
  type LeaseRecord,
  type LeaseTerm,
  type Sighting,
} from './lease_record.ts';
import { startReflector } from './reflector.ts';

export interface LeaseOptions {
  /** Needs a client of its own: a renewal must not wait behind a thousand other calls. */
  client: KubeClient;
  name: string;
  namespace?: string | undefined;
  /**
   * Prefix of the identity (the pod's name). Each run appends its own suffix, so a restarted pod has a new identity.
   */
  holder: string;
  durationMs?: number;
  renewMs?: number;
  /** Leadership ends and onLost is called this long before the lease can expire. */
  marginMs?: number;
  /** A Lease that was there and is deleted is not created anew for this long. */
  quietMs?: number;
  /** Lower bound of the epoch. `isNew`: there is no Lease, so it may have been deleted. */
  epochFloor?: (isNew: boolean) => number | Promise<number>;
  /** The clock by which terms are recorded; by default the machine's. */
  now?: () => number;
  onLead(lead: { epoch: number }): void;
  /** Awaited before a release, as long as the lease is valid: must stop all workers. */
  onLost(why: 'released' | 'lapsed' | 'taken'): void | Promise<void>;
  onError?(error: unknown): void;
}

export type Election = Pick<Candidate, keyof Candidate>;

/** While leading: the epoch, and the time of the last renewal by both clocks. */
interface Lead {
  epoch: number;
  sentAt: number;
  sentWall: number;
  lapse: NodeJS.Timeout;
}

export const startElection = (options: LeaseOptions): Election => new Candidate(options);

class Candidate {
  readonly identity: string;
  readonly #options: LeaseOptions;
  readonly #namespace: string;
  readonly #durationMs: number;
  readonly #renewMs: number;
  readonly #marginMs: number;
  readonly #stopping = new AbortController();
  #sighting: Sighting | undefined;
  #quietUntil = 0;
  #highest = 0;
  #lead: Lead | undefined;
  #losing = Promise.resolve();
  #wake = (): void => {};
  readonly #reflector: { stop(): Promise<void> };
  readonly #running: Promise<void>;

  constructor(options: LeaseOptions) {
    this.#options = options;
    const { client, name, holder, namespace = client.namespace } = options;
    this.identity = `${holder}_${randomUUID()}`;
    this.#namespace = namespace;
    this.#durationMs = options.durationMs ?? 6000;
    this.#renewMs = options.renewMs ?? 2000;
    this.#marginMs = options.marginMs ?? 1000;
    this.#reflector = startReflector({
      client,
      type: LEASES,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      pauses: { first: 200, longest: 2000 },
      handlers: {
        add: (lease) => this.#note(recordOf(lease)),
        update: (lease) => this.#note(recordOf(lease)),
        delete: () => {
          this.#vanish();
          this.#lose('taken');
          this.#wake();
        },
      },
      hooks: { failed: (error) => this.#failed(error) },
    });
    this.#stopping.signal.addEventListener('abort', () => this.#wake());
    this.#running = this.#run();
  }

  /** The epoch of this replica's leadership, or undefined. */
  leading(): number | undefined {
    return this.#lead?.epoch;
  }

  /**
   * Whether the lease is held for at least `marginMs` more. Call it right before each write that only a leader may
   * make.
   */
  stillLeading(marginMs = this.#marginMs): boolean {
    return this.#lead !== undefined && this.ageMs() + marginMs < this.#durationMs;
  }

  /**
   * Milliseconds since the last successful renewal was sent; Infinity when not leading. Suspending a machine stops the
   * monotonic clock but not the wall clock: the larger age is the safe one.
   */
  ageMs(): number {
    if (this.#lead === undefined) return Infinity;
    return Math.max(performance.now() - this.#lead.sentAt, Date.now() - this.#lead.sentWall);
  }

  /** The current leader, as last seen. */
  seen(): { holder: string; epoch: number } | undefined {
    if (this.#sighting === undefined) return undefined;
    const { holder, epoch } = this.#sighting.record;
    return { holder, epoch };
  }

  /** The last terms, the latest first, as last seen. */
  terms(): readonly LeaseTerm[] {
    return this.#sighting?.record.terms ?? [];
  }

  /** Milliseconds since this replica saw the lease renewed by a holder; Infinity: nobody holds it. */
  renewedAgoMs(): number {
    if (this.#sighting === undefined || this.#sighting.record.holder === '') return Infinity;
    return performance.now() - this.#sighting.seenAt;
  }

  /** Ends the candidacy; a leader stops its workers, then releases the lease. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const isReleasable = await this.#stopLeading();
    // An acquisition or renewal in progress finishes first.
    await this.#running;
    // If the workers did not stop in time, the lease is kept until it expires, so that the next leader waits for them.
    if (isReleasable) await this.#release().catch((error: unknown) => this.#failed(error));
    await this.#reflector.stop();
  }

  // What was seen of the Lease.

  #note(record: LeaseRecord): void {
    const before = this.#sighting?.record;
    this.#sighting = sight(this.#sighting, record, performance.now());
    this.#highest = Math.max(this.#highest, record.epoch);
    const isOwn = record.holder === this.identity && record.epoch === this.#lead?.epoch;
    // An older record that arrives late is not the sighting.
    if (this.#lead !== undefined && this.#sighting.record === record && !isOwn) this.#lose('taken');
    if (record.holder !== this.identity && before?.holder !== record.holder) this.#wake();
  }

  #vanish(): void {
    if (this.#sighting !== undefined) this.#quietUntil = performance.now() + (this.#options.quietMs ?? 0);
    this.#sighting = undefined;
  }

  async #refresh(signal?: AbortSignal): Promise<void> {
    const { client, name } = this.#options;
    const bounds = { namespace: this.#namespace, deadlineMs: this.#renewMs, signal };
    this.#note(recordOf(await client.get(LEASES, name, bounds)));
  }

  #failed(error: unknown): void {
    this.#options.onError?.(error);
  }

  // The end of a leadership.

  #lose(why: 'lapsed' | 'taken'): void {
    if (this.#lead === undefined) return;
    clearTimeout(this.#lead.lapse);
    this.#lead = undefined;
    this.#losing = this.#losing.then(() => this.#options.onLost(why)).catch((error: unknown) => this.#failed(error));
    this.#wake();
  }

  #armLapse(): NodeJS.Timeout {
    return setTimeout(
      () => {
        if (this.#lead === undefined) return;
        if (this.stillLeading()) this.#lead.lapse = this.#armLapse();
        else this.#lose('lapsed');
      },
      Math.max(1, this.#durationMs - this.#marginMs - this.ageMs()),
    );
  }

  /** Whether the workers stopped while the lease was valid. */
  async #stopLeading(): Promise<boolean> {
    if (this.#lead === undefined) return true;
    clearTimeout(this.#lead.lapse);
    const left = this.#durationMs - this.ageMs();
    this.#lead = undefined;
    const released = this.#losing.then(() => this.#options.onLost('released'));
    try {
      await within(Math.max(left, 0), released);
      return true;
    } catch (error) {
      if (!(error instanceof DeadlineError)) this.#failed(error);
      return false;
    }
  }

  async #release(): Promise<void> {
    const { client, name } = this.#options;
    const bounds = { namespace: this.#namespace, deadlineMs: this.#renewMs };
    const spec = { holderIdentity: null, renewTime: microTime() };
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        if (this.#sighting === undefined || this.#sighting.record.holder !== this.identity) return;
        const { resourceVersion } = this.#sighting.record;
        await client.mergePatch(LEASES, name, { spec }, { ...bounds, resourceVersion });
        return;
      } catch (error) {
        if (!isKubeError(error, 'conflict')) throw error;
        await this.#refresh();
      }
    }
  }

  // Acquisition and renewal.

  /** 0: the lease may be acquired now. */
  #takeableIn(at: number): number {
    if (this.#sighting === undefined) return Math.max(0, this.#quietUntil - at);
    return takeableInMs(this.#sighting, this.identity, this.#durationMs, at);
  }

  /** Whether the lease may still be acquired from the state that was judged. Anything seen since is judged anew. */
  #stillTakeable(judged: Sighting | undefined): boolean {
    return (
      !this.#stopping.signal.aborted &&
      this.#sighting?.record.resourceVersion === judged?.record.resourceVersion &&
      this.#takeableIn(performance.now()) === 0
    );
  }

  async #take(judged: Sighting | undefined): Promise<void> {
    const least = this.#highest;
    // Workers of an earlier leadership end before the next begins.
    await this.#losing;
    if (!this.#stillTakeable(judged)) return;
    const floor = (await this.#options.epochFloor?.(judged === undefined)) ?? 0;
    if (!this.#stillTakeable(judged)) return;
    const epoch = Math.max(floor, least) + 1;
    const sentAt = performance.now();
    const sentWall = Date.now();
    this.#note(recordOf(await this.#write(judged, epoch)));
    // The response may have been delayed: then the lease is held, but too old to lead, or another holder has it.
    if (this.#stopping.signal.aborted || performance.now() - sentAt + this.#marginMs >= this.#durationMs) return;
    if (this.#sighting?.record.holder !== this.identity || this.#sighting.record.epoch !== epoch) return;
    this.#lead = { epoch, sentAt, sentWall, lapse: undefined as never };
    this.#lead.lapse = this.#armLapse();
    this.#options.onLead({ epoch });
  }

  /** Writes only over the record that was judged: its resourceVersion is the condition of the write. */
  #write(judged: Sighting | undefined, epoch: number): Promise<Lease> {
    const { client, name, holder, now: clock = Date.now } = this.#options;
    const now = microTime();
    const spec = {
      holderIdentity: this.identity,
      leaseDurationSeconds: Math.ceil(this.#durationMs / 1000),
      leaseTransitions: epoch,
      acquireTime: now,
      renewTime: now,
    };
    const since = new Date(clock()).toISOString();
    const annotations = withTerm(judged?.record.terms ?? [], { pod: holder, epoch, since });
    const namespace = this.#namespace;
    const bounds = { namespace, deadlineMs: this.#renewMs, serverTimeoutMs: this.#renewMs };
    if (judged === undefined)
      return client.create(LEASES, { metadata: { name, namespace, annotations }, spec }, bounds);
    const { resourceVersion } = judged.record;
    return client.mergePatch(LEASES, name, { metadata: { annotations }, spec }, { ...bounds, resourceVersion });
  }

  async #renew(held: Lead): Promise<void> {
    const { client, name } = this.#options;
    const sentAt = performance.now();
    const sentWall = Date.now();
    const lease = await client.mergePatch(
      LEASES,
      name,
      { spec: { renewTime: microTime() } },
      {
        namespace: this.#namespace,
        deadlineMs: Math.max(500, Math.min(this.#renewMs, this.#durationMs - this.#marginMs - this.ageMs())),
        serverTimeoutMs: this.#renewMs,
        resourceVersion: this.#sighting!.record.resourceVersion,
      },
    );
    if (this.#lead === held) {
      held.sentAt = sentAt;
      held.sentWall = sentWall;
    }
    this.#note(recordOf(lease));
  }

  // The loop.

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      const wait = await this.#turn();
      // Something changed during the action: check again soon, but never in a tight loop.
      await pause(woken.signal.aborted ? 10 : Math.max(wait, 0), woken.signal);
    }
  }

  /** One check and one action; returns the time to wait before the next. */
  async #turn(): Promise<number> {
    try {
      if (this.#lead === undefined) return await this.#stand();
      await this.#renew(this.#lead);
      return this.#renewMs - this.ageMs();
    } catch (error) {
      return this.#stopping.signal.aborted ? 0 : this.#afterFailure(error);
    }
  }

  async #stand(): Promise<number> {
    const { signal } = this.#stopping;
    if (this.#sighting === undefined)
      await this.#refresh(signal).catch((error: unknown) => {
        if (!isKubeError(error, 'not-found')) throw error;
      });
    const wait = this.#takeableIn(performance.now());
    if (wait === 0) {
      await this.#take(this.#sighting);
      return this.#lead === undefined ? this.#renewMs / 4 : this.#renewMs;
    }
    // The watch normally reports changes; this read covers a broken watch.
    if (wait <= this.#renewMs) return wait + 1;
    await this.#refresh(signal);
    return Math.min(this.#renewMs, wait);
  }

  async #afterFailure(error: unknown): Promise<number> {
    if (isKubeError(error, 'not-found')) {
      // The Lease was deleted: nobody leads, and whoever recreates it must continue from the highest epoch.
      const gone = this.#sighting !== undefined;
      this.#vanish();
      this.#lose('taken');
      // It did not exist before either: the namespace is missing.
      return gone ? 0 : this.#renewMs / 4;
    }
    if (!isKubeError(error, 'conflict', 'already-exists')) this.#failed(error);
    await this.#refresh(this.#stopping.signal).catch((again: unknown) => {
      if (isKubeError(again, 'not-found')) this.#vanish();
    });
    // A conflict while leading comes from a foreign write, or from a renewal whose response was lost: retry soon.
    return this.#lead !== undefined ? Math.min(this.#renewMs / 8, 250) : this.#renewMs / 4 + Math.random() * 100;
  }
}

const microTime = (): string => new Date().toISOString().replace('Z', '000Z');
