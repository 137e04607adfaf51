/**
 * The agent of one runner pod: receives orders over NATS, runs the tools through the launcher, and publishes results
 * until they are collected. It holds the pod's NATS identity and the sources in plain text, and has no tools.
 */
import { cpus } from 'node:os';
import { type Logger, requestFields } from '../../base/log.ts';
import { backoff, pause } from '../../base/retry.ts';
import type { QcProgress } from '../../media/qc/gather.ts';
import { isCancel, isGo, isPrepare, isRenew } from '../../platform/bus/claims.ts';
import type { Bus, Subscribed } from '../../platform/bus/connect.ts';
import {
  type Attempt,
  type Cancel,
  type Go,
  type Heartbeat,
  HEARTBEAT_MS,
  type Lease,
  type Order,
  type OrderAnswer,
  type Prepare,
  PREPARE_TTL_MS,
  type Renew,
  SUBJECT,
  TASK_LEASE_MS,
  type Walls,
} from '../../platform/bus/messages.ts';
import type { PackedResult } from '../../platform/bus/packing.ts';
import { offerResult, publishResult } from '../../platform/bus/results.ts';
import type { SourceProxy } from '../../source/proxy.ts';
import { runJob, type RunSettings } from './job.ts';
import type { Launcher } from './launcher.ts';
import {
  type Decision,
  type Effect,
  type Event,
  heartbeatOf,
  type Identity,
  initialState,
  isFinished,
  isNews,
  keyOf,
  type State,
  transition,
} from './orders.ts';
import { packResult, type RawBody } from './output.ts';
import { JobSource } from './source.ts';

export interface AgentOptions {
  bus: Bus;
  launcher: Launcher;
  proxy: SourceProxy;
  identity: Identity;
  settings: RunSettings & { jobsBefore?: number };
  log: Logger;
  walls?: () => Walls;
  heartbeatMs?: number;
}

/** A result that is not collected within this time is dropped; its request has ended otherwise by then. */
const GIVE_UP_MS = 600_000;
/** A pod's containers are not restarted, so without its tools container the agent can run nothing more. */
const LAUNCHER_GONE_MS = 5_000;

const CORES = cpus().length;

const namesOf = ({ requestId, job }: Order) => requestFields({ id: requestId, job });

/**
 * Its state is one record, which `transition` moves; `#take` carries out what follows. The rest is what a record cannot
 * hold: the open source, what the tools promise, and the results that are being sent.
 */
export class Agent {
  readonly #options: AgentOptions;
  readonly #readyAt = performance.now();
  #state: State;
  #source: { key: string; open: JobSource } | undefined;
  /** The running job, or the last one, and how it is dropped. */
  #running: Go | undefined;
  #dropping = new AbortController();
  /** Of its content checks. */
  #progress: (() => QcProgress) | undefined;
  /** The next job starts only after the processes of the last one are gone. */
  #clean: Promise<boolean> = Promise.resolve(true);
  readonly #publications = new Map<string, AbortController>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #renewed = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;
  #launcherSeen = this.#readyAt;
  readonly #heartbeats: Heartbeats;
  readonly #subscriptions: Subscribed[];

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#state = initialState(this.#readyAt, options.settings.jobsBefore);
    const { bus, identity, heartbeatMs } = options;
    this.#heartbeats = startHeartbeats({
      bus,
      podUid: identity.uid,
      ...(heartbeatMs === undefined ? {} : { everyMs: heartbeatMs }),
      state: () => this.#heartbeat(),
      onLease: (lease) => this.#onLease(lease),
      onTick: () => this.#onTick(),
    });
    this.#subscriptions = this.#subscribe();
  }

  /**
   * Resolves when the agent has drained on its own: by order of the leader, or because the tools container could not be
   * cleaned.
   */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Resolves when the leader's order to begin the pod's next life is answered. */
  get renewed(): Promise<void> {
    return this.#renewed.promise;
  }

  state(): Readonly<State> {
    return this.#state;
  }

  /** Of the content checks that run. */
  progress(): QcProgress | undefined {
    return this.#state.task?.stage === 'running' ? this.#progress?.() : undefined;
  }

  /** Refuses new jobs; resolves when the running job has finished and its result is collected. */
  drain(why: string): Promise<void> {
    this.#take({ type: 'drain', why });
    return this.ended;
  }

  /** Stops immediately, even during a job. */
  async close(): Promise<void> {
    this.#heartbeats.stop();
    clearTimeout(this.#timer);
    for (const subscription of this.#subscriptions) subscription.stop();
    for (const stop of this.#publications.values()) stop.abort();
    this.#dropping.abort();
    this.#release();
    if (!this.#state.renewing) await this.#options.launcher.killAll();
  }

  #take(event: Event): Decision {
    const decision = transition(this.#state, event, performance.now());
    this.#apply(decision);
    return decision;
  }

  #apply({ state, effects }: Decision): void {
    const before = this.#state;
    this.#state = state;
    if (isNews(before, state)) this.#heartbeats.beat();
    if (isFinished(state)) this.#ended.resolve();
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: Effect): void {
    switch (effect.do) {
      case 'prepare':
        void this.#sourceFor(effect.order).prepare();
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#take({ type: 'time' }), PREPARE_TTL_MS + 50);
        break;
      case 'release':
        this.#release();
        break;
      case 'abandon':
        this.#abandon(effect.why);
        break;
      case 'run':
        this.#watch(effect.order, this.#run(effect.order));
        break;
      case 'withdraw':
        this.#publications.get(keyOf(effect.result))?.abort();
        break;
      case 'drain':
        this.#options.log.info({ why: effect.why }, 'draining');
        break;
    }
  }

  // The source and the tools of a job.

  #sourceFor(order: Prepare): JobSource {
    const key = keyOf(order);
    if (this.#source?.key === key) return this.#source.open;
    this.#release();
    const open = new JobSource(this.#options.proxy, order.assignment);
    this.#source = { key, open };
    return open;
  }

  #release(): void {
    this.#source?.open.close();
    this.#source = undefined;
  }

  #cleanUp(): void {
    this.#clean = this.#options.launcher.killAll().then((done) => {
      // A surviving process could read the next job's files, and be seen by that job.
      if (!done) this.#take({ type: 'drain', why: 'the tools container could not be cleaned' });
      return done;
    });
  }

  #abandon(why: string): void {
    this.#options.log.info({ ...(this.#running ? namesOf(this.#running) : {}), why }, 'job dropped');
    this.#dropping.abort();
    this.#release();
    this.#cleanUp();
  }

  async #run(order: Go): Promise<void> {
    const { launcher, settings } = this.#options;
    const { assignment } = order;
    const since = performance.now();
    this.#dropping = new AbortController();
    this.#running = order;
    this.#progress = undefined;
    const { signal } = this.#dropping;
    try {
      const source = this.#sourceFor(order);
      if (!(await this.#clean)) throw new Error('the tools container could not be cleaned');
      signal.throwIfAborted();
      const remainingMs = order.remainingMs - (performance.now() - since);
      const follow = (progress: () => QcProgress): void => void (this.#progress = progress);
      const body = await runJob({ assignment, remainingMs, launcher, source, settings, signal, follow });
      if (!signal.aborted) await this.#finish(order, body, since);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #watch(order: Go, done: Promise<void>): void {
    done.catch((error: unknown) => {
      this.#options.log.error({ err: error, ...namesOf(order) }, 'job failed with an internal error');
      // Nothing is published: the leader sees an idle agent with a task, and retries the job on another runner.
      this.#take({ type: 'lease-lost' });
    });
  }

  // The result of a job.

  async #finish(order: Go, body: RawBody, since: number): Promise<void> {
    const { redact } = this.#sourceFor(order);
    this.#cleanUp();
    this.#release();
    const sent = this.#publish(order, body, redact);
    this.#take({ type: 'ran' });
    const tools = body.tools.map(({ name, version, side, success, failure, durationMs }) => ({
      name,
      version,
      side,
      success,
      failure,
      ms: Math.round(durationMs),
    }));
    this.#options.log.info(
      { ...namesOf(order), attempt: order.attempt, ms: Math.round(performance.now() - since), io: body.ioUsage, tools },
      'job done',
    );
    await sent;
  }

  async #publish(order: Go, body: RawBody, redact: JobSource['redact']): Promise<void> {
    const { bus, log, identity } = this.#options;
    const key = keyOf(order);
    const stop = new AbortController();
    this.#publications.set(key, stop);
    const late = setTimeout(() => this.#take({ type: 'dropped', result: order }), GIVE_UP_MS);
    try {
      const packed = await packResult(body, redact, {
        job: order.job,
        attempt: order.attempt,
        epoch: order.epoch,
        podUid: identity.uid,
      });
      await publishUntilCollected(bus, packed, {
        signal: stop.signal,
        onCollected: () => this.#take({ type: 'collected', result: order }),
        onError: (error) => log.warn({ err: error, ...namesOf(order) }, 'cannot publish result, will retry'),
      });
    } finally {
      clearTimeout(late);
      this.#publications.delete(key);
      // Only takes effect if packing failed; otherwise the task is already settled.
      this.#take({ type: 'dropped', result: order });
    }
  }

  // What the leader is told and orders.

  #heartbeat(): Heartbeat {
    const { identity, walls } = this.#options;
    const percent = this.progress()?.percent;
    return {
      ...heartbeatOf(this.#state, identity, this.#readyAt, performance.now()),
      ...(typeof percent === 'number' ? { progress: percent } : {}),
      ...(walls ? { walls: walls() } : {}),
      cores: CORES,
    };
  }

  #used() {
    const decodedSeconds = this.progress()?.seconds;
    return {
      bytes: this.#source?.open.ioUsage() ?? 0,
      ...(decodedSeconds === undefined ? {} : { decodedSeconds }),
    };
  }

  #onLease(lease: Lease): boolean {
    return this.#take({ type: 'lease', lease }).answer.ok;
  }

  #onTick(): void {
    const now = performance.now();
    if (this.#options.launcher.connected()) this.#launcherSeen = now;
    if (now - this.#launcherSeen > LAUNCHER_GONE_MS)
      this.#take({ type: 'drain', why: 'the tools container did not reconnect' });
    if (this.#state.task?.stage === 'running' && !this.#heartbeats.held()) this.#take({ type: 'lease-lost' });
  }

  #subscribe(): Subscribed[] {
    const { bus, identity } = this.#options;
    const { uid } = identity;
    return [
      bus.serve<Prepare, OrderAnswer>(
        SUBJECT.prepare(uid),
        this.#ordered(isPrepare, (order) => ({ type: 'prepare', order })),
      ),
      bus.serve<Go, OrderAnswer>(
        SUBJECT.go(uid),
        this.#ordered(isGo, (order) => ({ type: 'go', order })),
      ),
      bus.serve<Cancel, OrderAnswer>(
        SUBJECT.cancel(uid),
        this.#ordered(isCancel, (order) => ({ type: 'cancel', order, used: this.#used() })),
      ),
      bus.serve<Renew, OrderAnswer>(SUBJECT.renew(uid), ({ message }) => this.#onRenew(message)),
      bus.subscribe<Attempt>(SUBJECT.collected(uid), ({ message: result }) => {
        this.#take({ type: 'collected', result });
      }),
      bus.subscribe(SUBJECT.report, () => this.#heartbeats.beat()),
    ];
  }

  #ordered<T extends Prepare | Cancel>(isOne: (message: unknown) => message is T, eventOf: (order: T) => Event) {
    return ({ message }: { message: T }): OrderAnswer | undefined => {
      const { launcher, log } = this.#options;
      if (!isOne(message)) {
        log.warn('malformed order dropped');
        return undefined;
      }
      // Another pod takes the job sooner than this one's launcher reconnects.
      if (!launcher.connected() && 'assignment' in message && !this.#state.task) return { ok: false, why: 'busy' };
      const decision = transition(this.#state, eventOf(message), performance.now());
      if (decision.answer.ok) this.#heartbeats.renew();
      this.#apply(decision);
      return decision.answer;
    };
  }

  /** After an `ok` the agent accepts no other order. */
  async #onRenew(order: Renew): Promise<OrderAnswer | undefined> {
    if (!isRenew(order)) return undefined;
    const { answer } = this.#take({ type: 'renew', order });
    if (!answer.ok) return answer;
    // Nothing of the former tenant may be left in the tools container.
    if (!(await this.#clean) || !(await this.#options.launcher.renew())) {
      this.#take({ type: 'drain', why: 'the tools container could not be renewed' });
      return { ok: false, why: 'unclean' };
    }
    this.#renewed.resolve();
    return { ok: true };
  }
}

// Sends a result until a collector confirms that it is recorded: to a collector, and if that does not record it at
// once, to JetStream, whose own acknowledgement only confirms that it is stored.

/**
 * Pauses after a failed try, and after one that was stored but not confirmed as collected. The latter exceed the 5 s
 * for which JetStream drops duplicates.
 */
const PAUSES = {
  failed: { first: 100, longest: 5_000 },
  stored: { first: 8_000, longest: 36_000, jitter: 0.3 },
};

interface Publication {
  /** Aborted when the result was collected or given up. */
  signal: AbortSignal;
  /** A collector answered that it is recorded. Otherwise a message says so. */
  onCollected: () => void;
  onError: (error: unknown) => void;
}

/** Resolves when the result was collected or given up. */
export async function publishUntilCollected(
  bus: Bus,
  result: PackedResult,
  { signal, onCollected, onError }: Publication,
): Promise<void> {
  if (await offerResult(bus, result)) return onCollected();
  const failed = backoff(PAUSES.failed);
  const stored = backoff(PAUSES.stored);
  while (!signal.aborted) {
    let ms: number;
    try {
      await publishResult(bus, result);
      ms = stored.next();
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      ms = failed.next();
    }
    await pause(ms, signal);
  }
}

// Reports the agent's state to the leader, every two seconds and after a change. The answers renew the lease of the
// running job.

const ANSWER_MS = 1_500;

type Heartbeats = ReturnType<typeof startHeartbeats>;

interface HeartbeatOptions {
  bus: Pick<Bus, 'request'>;
  podUid: string;
  state: () => Heartbeat;
  /** False for the answer of an older leader, which does not renew the lease. */
  onLease: (lease: Lease) => boolean;
  /** Called at each interval, with or without an answer. */
  onTick: () => void;
  everyMs?: number;
}

export function startHeartbeats({ bus, podUid, state, onLease, onTick, everyMs = HEARTBEAT_MS }: HeartbeatOptions) {
  let renewedAt = performance.now();
  let leaseMs = TASK_LEASE_MS;
  const beat = async () => {
    // Counted from the request, not the answer: the leader counts from the time at which it answered.
    const askedAt = performance.now();
    try {
      const lease = await bus.request<Lease>(SUBJECT.heartbeat(podUid), state(), ANSWER_MS);
      if (!onLease(lease)) return;
      renewedAt = Math.max(renewedAt, askedAt);
      if (lease.leaseMs > 0) leaseMs = lease.leaseMs;
    } catch {
      // No answer: the lease remains valid until it expires.
    }
  };
  const timer = setInterval(() => {
    void beat();
    onTick();
  }, everyMs);
  void beat();
  return {
    /** Sends a heartbeat now, after a change. */
    beat: () => void beat(),
    /** Renews the lease: an order of the leader counts like an answer. */
    renew: () => {
      renewedAt = performance.now();
    },
    /** Whether the lease is valid: a leader answered in time. */
    held: () => performance.now() - renewedAt < leaseMs,
    stop: () => clearInterval(timer),
  };
}
