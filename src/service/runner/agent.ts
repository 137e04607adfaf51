/**
 * The agent of one runner pod: receives orders over NATS, runs the tools through the launcher, and publishes results
 * until they are collected. It holds the pod's NATS identity and the sources in plain text, and has no tools.
 */
import { isBegin, isCancel, isGo, isPrepare } from '../../platform/bus/claims.ts';
import type { Bus } from '../../platform/bus/connect.ts';
import { EARLY_MS } from '../../platform/bus/early.ts';
import {
  type Assignment,
  type Begin,
  type Cancel,
  type Collected,
  type Go,
  type Order,
  type OrderAnswer,
  PREPARE_TTL_MS,
  type Prepare,
  SUBJECT,
  type Walls,
} from '../../platform/bus/messages.ts';
import { type Logger, requestFields } from '../../base/log.ts';
import { startHeartbeats } from './heartbeat.ts';
import { mayBegin, type RunSettings, runJob } from './job.ts';
import { type Launcher, LauncherError } from './launcher.ts';
import {
  type Decision,
  type Effect,
  heartbeatOf,
  type Identity,
  initialState,
  isFinished,
  isNews,
  onBegin,
  onCancel,
  onCollected,
  onDrain,
  onDropped,
  onGo,
  onLease,
  onLeaseLost,
  onPrepare,
  onRan,
  onRenew,
  onTime,
  type State,
} from './orders.ts';
import { packBody, type RawBody } from './output.ts';
import { publishUntilCollected } from './publish.ts';
import { serveRenewals } from './renewal.ts';
import type { JobSource, OpenSource } from './source.ts';

export interface AgentOptions {
  bus: Bus;
  launcher: Launcher;
  openSource: OpenSource;
  identity: Identity;
  settings: RunSettings & { maxJobs: number; jobsBefore?: number };
  log: Logger;
  walls?: () => Walls;
  heartbeatMs?: number;
}

export interface Agent {
  state(): Readonly<State>;
  /** Refuses new jobs; resolves when the running job has finished and its result is collected. */
  drain(why: string): Promise<void>;
  /** Stops immediately, even during a job. */
  close(): Promise<void>;
  /**
   * Resolves when the agent has drained on its own: by order of the leader, after its last job, or because the tools
   * container could not be cleaned.
   */
  ended: Promise<void>;
  /** Resolves when the leader's order to begin the pod's next life is answered. */
  renewed: Promise<void>;
}

/** A result that is not collected within this time is dropped; its request has ended otherwise by then. */
const GIVE_UP_MS = 600_000;
/** A pod's containers are not restarted, so without its tools container the agent can run nothing more. */
const LAUNCHER_GONE_MS = 5_000;

interface Begun {
  number: bigint;
  job: AbortController;
  since: number;
  admitted: PromiseWithResolvers<Assignment>;
  body: Promise<RawBody>;
}

/** A leader of an older version does not send the request id. */
const namesOf = ({ requestId, job }: Order) => requestFields({ id: requestId, job });

export function startAgent({
  bus,
  launcher,
  openSource,
  identity,
  settings,
  log,
  walls,
  heartbeatMs,
}: AgentOptions): Agent {
  const readyAt = performance.now();
  let state = initialState(readyAt, settings.jobsBefore);
  let source: { key: string; open: JobSource } | undefined;
  let abandoned = new AbortController();
  /** The running job, or the last one. */
  let running: Prepare | undefined;
  /** What was begun before its admission. */
  let begun: Begun | undefined;
  /** The next job starts only after the processes of the last one are gone. */
  let clean: Promise<boolean> = Promise.resolve(true);
  const publications = new Map<string, AbortController>();
  const ended = Promise.withResolvers<void>();
  const renewed = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  let launcherSeen = readyAt;

  const change = (next: State): void => {
    const before = state;
    state = next;
    if (isNews(before, next)) heartbeats.beat();
    if (isFinished(state)) ended.resolve();
  };
  const take = ({ state: next, effects }: Pick<Decision, 'state' | 'effects'>): void => {
    change(next);
    for (const effect of effects) perform(effect);
  };

  const release = () => {
    source?.open.close();
    source = undefined;
  };
  const sourceFor = (order: Prepare): JobSource => {
    const key = `${order.job}/${order.attempt}`;
    if (source?.key === key) return source.open;
    release();
    const open = openSource(order.assignment);
    source = { key, open };
    return open;
  };

  const cleanUp = (): Promise<boolean> => {
    clean = launcher.killAll().then((done) => {
      // A surviving process could read the next job's files, and be seen by that job.
      if (!done) drain('the tools container could not be cleaned');
      return done;
    });
    return clean;
  };

  const perform = (effect: Effect): void => {
    switch (effect.do) {
      case 'prepare':
        void sourceFor(effect.order).prepare();
        lookAfter(PREPARE_TTL_MS);
        break;
      case 'begin':
        begin(effect.order, effect.number);
        lookAfter(EARLY_MS);
        break;
      case 'keep':
        keep(effect.order);
        break;
      case 'release':
        release();
        break;
      case 'abandon':
        log.info({ ...(running ? namesOf(running) : {}), why: effect.why }, 'job dropped');
        abandoned.abort();
        begun?.admitted.reject(new Error('the job was dropped'));
        begun = undefined;
        release();
        void cleanUp();
        break;
      case 'run':
        watched(effect.order, run(effect.order));
        break;
    }
  };
  const lookAfter = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => take(onTime(state, performance.now())), ms + 50);
  };
  const watched = (order: Go, done: Promise<void>): void => {
    done.catch((error: unknown) => {
      log.error({ err: error, ...namesOf(order) }, 'job failed with an internal error');
      // Nothing is published: the leader sees an idle agent with a task, and retries the job on another runner.
      take(onLeaseLost(state, performance.now()));
    });
  };

  const newJob = (order: Prepare): AbortController => {
    abandoned = new AbortController();
    running = order;
    return abandoned;
  };

  const runTools = async (
    order: Prepare,
    { signal }: AbortController,
    givenMs: number,
    early?: { number: bigint; admitted: Promise<Assignment> },
  ): Promise<RawBody> => {
    const asked = performance.now();
    const opened = sourceFor(order);
    if (!(await clean)) throw new Error('the tools container could not be cleaned');
    signal.throwIfAborted();
    const remainingMs = givenMs - (performance.now() - asked);
    return runJob({ assignment: order.assignment, remainingMs, launcher, source: opened, settings, signal, early });
  };

  const begin = (order: Prepare, number: bigint): void => {
    const job = newJob(order);
    const admitted = Promise.withResolvers<Assignment>();
    const early = { number, admitted: admitted.promise };
    const body = runTools(order, job, order.assignment.timeoutMs, early);
    // Nobody may ever ask for either.
    admitted.promise.catch(() => {});
    body.catch(() => {});
    begun = { number, job, since: performance.now(), admitted, body };
  };

  const run = async (order: Go): Promise<void> => {
    const since = performance.now();
    const job = newJob(order);
    try {
      await finish(order, job, await runTools(order, job, order.remainingMs), since);
    } catch (error) {
      if (!job.signal.aborted) throw error;
    }
  };

  const keep = (order: Go): void => {
    if (!begun) return;
    const { number, job, since, admitted, body } = begun;
    begun = undefined;
    launcher.confirm(number);
    admitted.resolve(order.assignment);
    const given = async (): Promise<void> => {
      try {
        await finish(order, job, await body, since);
      } catch (error) {
        if (job.signal.aborted) return;
        if (!(error instanceof LauncherError) || error.code !== 'unconfirmed') throw error;
        // It was ended before the `go` arrived, or was not begun in time.
        log.info(namesOf(order), 'begun again: the admission came too late');
        job.abort();
        release();
        void cleanUp();
        await run(order);
      }
    };
    watched(order, given());
  };

  const finish = async (order: Go, job: AbortController, body: RawBody, since: number): Promise<void> => {
    if (job.signal.aborted) return;
    const { redact } = sourceFor(order);
    void cleanUp();
    release();
    const sent = publish(order, body, redact);
    change(onRan(state, performance.now()));
    const tools = body.tools.map(({ name, version, side, success, failure, durationMs }) => ({
      name,
      version,
      side,
      success,
      failure,
      ms: Math.round(durationMs),
    }));
    log.info(
      { ...namesOf(order), attempt: order.attempt, ms: Math.round(performance.now() - since), io: body.ioUsage, tools },
      'job done',
    );
    await sent;
  };

  const publish = async (order: Go, body: RawBody, redact: JobSource['redact']): Promise<void> => {
    const key = `${order.job}/${order.attempt}`;
    const stop = new AbortController();
    publications.set(key, stop);
    const late = setTimeout(() => end(order, onDropped), GIVE_UP_MS);
    try {
      const packed = await packBody(body, redact, {
        job: order.job,
        attempt: order.attempt,
        epoch: order.epoch,
        podUid: identity.uid,
      });
      await publishUntilCollected(bus, packed, stop.signal, (error) => {
        log.warn({ err: error, ...namesOf(order) }, 'cannot publish result, will retry');
      });
    } finally {
      clearTimeout(late);
      publications.delete(key);
      // Only takes effect if packing failed; otherwise the task is already settled.
      change(onDropped(state, order, performance.now()));
    }
  };
  const end = (of: Collected, after: typeof onCollected | typeof onDropped): void => {
    publications.get(`${of.job}/${of.attempt}`)?.abort();
    change(after(state, of, performance.now()));
    if (state.jobsDone >= settings.maxJobs) drain('maximum number of jobs reached');
  };

  const drain = (why: string): void => {
    if (state.draining) return;
    log.info({ why }, 'draining');
    change(onDrain(state));
  };

  const heartbeats = startHeartbeats({
    bus,
    podUid: identity.uid,
    ...(heartbeatMs === undefined ? {} : { everyMs: heartbeatMs }),
    state: () => ({
      ...heartbeatOf(state, identity, readyAt, performance.now()),
      ...(walls ? { walls: walls() } : {}),
    }),
    onLease(lease) {
      const decision = onLease(state, lease, performance.now());
      take(decision);
      if (lease.cancel) publications.get(`${lease.cancel.job}/${lease.cancel.attempt}`)?.abort();
      if (decision.drain) drain('requested by the leader');
      return decision.renews;
    },
    onTick() {
      const now = performance.now();
      launcherSeen = launcher.connected() ? now : launcherSeen;
      if (now - launcherSeen > LAUNCHER_GONE_MS) drain('the tools container did not reconnect');
      if (state.task?.stage === 'running' && !heartbeats.held()) take(onLeaseLost(state, now));
    },
  });

  const ordered =
    <T extends Prepare | Begin | Cancel>(
      isOne: (message: unknown) => message is T,
      decide: (state: State, order: T, now: number) => Decision,
    ) =>
    ({ message }: { message: T }): OrderAnswer | undefined => {
      if (!isOne(message)) {
        log.warn('malformed order dropped');
        return undefined;
      }
      // Another pod takes the job sooner than this one's launcher reconnects.
      if (!launcher.connected() && 'assignment' in message && !state.task) return { ok: false, why: 'busy' };
      const decision = decide(state, message, performance.now());
      if (decision.answer.ok && !isBegin(message)) heartbeats.renew();
      take(decision);
      return decision.answer;
    };
  const subscriptions = [
    bus.serve<Prepare, OrderAnswer>(SUBJECT.prepare(identity.uid), async (received) => {
      const { message } = received;
      const answer = ordered(isPrepare, onPrepare)(received);
      // A new number would end what a repeated order has begun.
      const isPrepared = state.task?.stage === 'prepared' && state.task.job === message.job;
      if (!answer?.ok || !isPrepared || !mayBegin(message.assignment)) return answer;
      const number = await launcher.arm();
      return number === undefined ? answer : { ok: true, number: String(number) };
    }),
    bus.serve<Begin, OrderAnswer>(SUBJECT.begin(identity.uid), ordered(isBegin, onBegin)),
    bus.serve<Go, OrderAnswer>(SUBJECT.go(identity.uid), ordered(isGo, onGo)),
    bus.serve<Cancel, OrderAnswer>(SUBJECT.cancel(identity.uid), (received) => {
      const answer = ordered(isCancel, (...order) => onCancel(...order, source?.open.ioUsage()))(received);
      if (answer?.ok) publications.get(`${received.message.job}/${received.message.attempt}`)?.abort();
      return answer;
    }),
    serveRenewals(bus, identity.uid, {
      decide: (order) => onRenew(state, order, performance.now()),
      take,
      clean: async () => (await clean) && (await launcher.renew()),
      onUnclean: () => drain('the tools container could not be renewed'),
      onRenewed: renewed.resolve,
    }),
    bus.subscribe<Collected>(SUBJECT.collected(identity.uid), ({ message }) => end(message, onCollected)),
    bus.subscribe(SUBJECT.report, () => heartbeats.beat()),
  ];

  return {
    state: () => state,
    drain(why) {
      drain(why);
      return ended.promise;
    },
    async close() {
      heartbeats.stop();
      clearTimeout(timer);
      for (const subscription of subscriptions) subscription.stop();
      for (const stop of publications.values()) stop.abort();
      abandoned.abort();
      release();
      if (!state.renewing) await launcher.killAll();
    },
    ended: ended.promise,
    renewed: renewed.promise,
  };
}
