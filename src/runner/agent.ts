/**
 * The agent of one runner pod: receives orders over NATS, runs the tools through the launcher, and publishes results
 * until they are collected. It holds the pod's NATS identity and the sources in plain text, and has no tools.
 */
import { isCancel, isGo, isPrepare } from '../bus/claims.ts';
import type { Bus } from '../bus/connect.ts';
import {
  type Cancel,
  type Collected,
  type Go,
  type Order,
  type OrderAnswer,
  type Prepare,
  SUBJECT,
  type Walls,
} from '../bus/messages.ts';
import { type Logger, requestFields } from '../log.ts';
import { startHeartbeats } from './heartbeat.ts';
import { type RunSettings, runJob } from './job.ts';
import type { Launcher } from './launcher.ts';
import {
  type Decision,
  type Effect,
  heartbeatOf,
  type Identity,
  initialState,
  isFinished,
  isNews,
  onCancel,
  onCollected,
  onDrain,
  onDropped,
  onGo,
  onLease,
  onLeaseLost,
  onPrepare,
  onRan,
  onTime,
  type State,
} from './orders.ts';
import { packBody, type RawBody } from './output.ts';
import { publishUntilCollected } from './publish.ts';
import type { JobSource, OpenSource } from './source.ts';

export interface AgentOptions {
  bus: Bus;
  launcher: Launcher;
  openSource: OpenSource;
  identity: Identity;
  settings: RunSettings & { maxJobs: number };
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
}

/** A result that is not collected within this time is dropped; its request has ended otherwise by then. */
const GIVE_UP_MS = 600_000;
/** A pod's containers are not restarted, so without its tools container the agent can run nothing more. */
const LAUNCHER_GONE_MS = 5_000;

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
  let state = initialState(readyAt);
  let source: { key: string; open: JobSource } | undefined;
  let abandoned = new AbortController();
  /** The running job, or the last one. */
  let running: Go | undefined;
  /** The next job starts only after the processes of the last one are gone. */
  let clean: Promise<boolean> = Promise.resolve(true);
  const publications = new Map<string, AbortController>();
  const ended = Promise.withResolvers<void>();
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
        clearTimeout(timer);
        timer = setTimeout(() => take(onTime(state, performance.now())), 2_050);
        break;
      case 'release':
        release();
        break;
      case 'abandon':
        log.info({ ...(running ? namesOf(running) : {}), why: effect.why }, 'job dropped');
        abandoned.abort();
        release();
        void cleanUp();
        break;
      case 'run':
        void run(effect.order).catch((error: unknown) => {
          log.error({ err: error, ...namesOf(effect.order) }, 'job failed with an internal error');
          // Nothing is published: the leader sees an idle agent with a task, and retries the job on another runner.
          take(onLeaseLost(state, performance.now()));
        });
        break;
    }
  };

  const run = async (order: Go): Promise<void> => {
    const begun = performance.now();
    const job = new AbortController();
    abandoned = job;
    running = order;
    const open = sourceFor(order);
    if (!(await clean)) throw new Error('the tools container could not be cleaned');
    if (job.signal.aborted) return;
    const remainingMs = order.remainingMs - (performance.now() - begun);
    const { signal } = job;
    const body = await runJob({ assignment: order.assignment, remainingMs, launcher, source: open, settings, signal });
    if (job.signal.aborted) return;
    void cleanUp();
    release();
    const sent = publish(order, body, open.redact);
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
      { ...namesOf(order), attempt: order.attempt, ms: Math.round(performance.now() - begun), io: body.ioUsage, tools },
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
    <T extends Prepare | Cancel>(
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
      if (decision.answer.ok) heartbeats.renew();
      take(decision);
      return decision.answer;
    };
  const subscriptions = [
    bus.serve<Prepare, OrderAnswer>(SUBJECT.prepare(identity.uid), ordered(isPrepare, onPrepare)),
    bus.serve<Go, OrderAnswer>(SUBJECT.go(identity.uid), ordered(isGo, onGo)),
    bus.serve<Cancel, OrderAnswer>(SUBJECT.cancel(identity.uid), (received) => {
      const answer = ordered(isCancel, onCancel)(received);
      if (answer?.ok) publications.get(`${received.message.job}/${received.message.attempt}`)?.abort();
      return answer;
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
      await launcher.killAll();
    },
    ended: ended.promise,
  };
}
