/**
 * Simulated runners for a cluster without nodes: each runner pod that the controller creates answers on the real bus by
 * the agent's own rules (src/service/runner/orders.ts). The test decides what a job does on it and how the runner
 * misbehaves.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bus, Subscribed } from '../../src/platform/bus/connect.ts';
import {
  RUNNER_PROTOCOL,
  type RunnerUse,
  SUBJECT,
  type Attempt,
  type Cancel,
  type Go,
  type Lease,
  type OrderAnswer,
  type Prepare,
  type Renew,
} from '../../src/platform/bus/messages.ts';
import { packResult, type TextBody } from '../result/text_body.ts';
import { makeRunnerId } from '../../src/platform/bus/runner_id.ts';
import { PODS, type KubeClient, type Pod } from '../../src/platform/kube/client.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import {
  heartbeatOf,
  initialState,
  onCancel,
  onCollected,
  onDrain,
  onGo,
  onLease,
  onPrepare,
  onRan,
  onRenew,
  onTime,
  type State,
} from '../../src/service/runner/orders.ts';
import { publishUntilCollected } from '../../src/service/runner/agent.ts';

type Refusal = Extract<OrderAnswer, { ok: false }>['why'];

export interface Behaviour {
  /** Reaction to a go order: a result after `ms`, no result (`hold`), a refusal, or no reply. */
  go: (order: Go, runner: SimulatedRunner) => { ms: number } | 'hold' | Refusal | 'silent';
  result: (order: Go) => TextBody;
  heartbeatMs: number;
  /** Whether new pods start at all; `running`: once their phase says so, where the cluster has nodes. */
  boot: boolean | 'running';
  /** Of new pods: another one than ours is that of another release. */
  protocol: number;
  /** Reaction to an order to begin another life; `unknown`: that of an older agent, which does not subscribe to it. */
  renew: 'renew' | 'refuse' | 'unknown';
  /** What it says in its answer to a cancel that the job has cost. */
  used?: RunnerUse;
  /** What its heartbeats say of the job. */
  progress?: number;
  /** Of its node, as its heartbeats say. */
  cores?: number;
}

export interface SimulatedRunner {
  pod: string;
  uid: string;
  state: State;
  orders: {
    what: 'prepare' | 'go' | 'cancel';
    job: string;
    attempt: number;
    epoch: number;
    answer: OrderAnswer;
  }[];
  /** Ends a held job with its result. */
  finish(): Promise<void>;
  /** Stops heartbeats and replies, as on an unreachable node. */
  mute: boolean;
  drain(): void;
  beat(): Promise<void>;
  /** Nothing reaches it and it says nothing, as without a connection, until `comeBack`. */
  leave(): void;
  comeBack(): void;
  stop(): void;
}

export const success = (order: Go): TextBody => ({
  tools: order.assignment.tools.map(({ name, version }) => ({
    name,
    version,
    success: true,
    durationMs: 5,
    usageMs: 5,
    exitCode: 0,
    signal: null,
    format: 'json',
    output: '{}',
  })),
  ioUsage: 1000,
});

const now = (): number => performance.now();

function startRunner(
  bus: Bus,
  pod: Pod,
  behaviour: Behaviour,
  log: (job: string, attempt: number, uid: string) => void,
  next: (life: number, jobsDone: number) => void,
  { life = 0, jobsBefore = 0 } = {},
): SimulatedRunner {
  const uid = makeRunnerId({ podUid: pod.metadata.uid ?? '', life });
  const identity = {
    protocol: behaviour.protocol,
    pod: pod.metadata.name,
    uid,
    namespace: pod.metadata.namespace ?? '',
    pool: pod.metadata.labels?.[LABEL.pool] ?? '',
    generation: pod.metadata.labels?.[LABEL.generation] ?? '',
  };
  const readyAt = now();
  const publications = new Map<string, AbortController>();
  let running: Go | undefined;

  const change = (state: State): void => {
    const before = runner.state;
    runner.state = state;
    if (
      before.task !== state.task ||
      before.publishing !== state.publishing ||
      before.draining !== state.draining ||
      before.tenant !== state.tenant
    )
      void runner.beat();
  };
  const publish = async (order: Go): Promise<void> => {
    if (running !== order) return;
    running = undefined;
    const { job, attempt, epoch } = order;
    const packed = await packResult(behaviour.result(order), { job, attempt, epoch, podUid: uid });
    change(onRan(runner.state, now()));
    const stop = new AbortController();
    publications.set(`${job}/${attempt}`, stop);
    // Repeats until it is collected, which may be never.
    void publishUntilCollected(bus, packed, {
      signal: stop.signal,
      onCollected: () => collected({ job, attempt }),
      onError: () => {},
    });
  };
  const collected = (of: Attempt): void => {
    publications.get(`${of.job}/${of.attempt}`)?.abort();
    publications.delete(`${of.job}/${of.attempt}`);
    change(onCollected(runner.state, of, now()));
  };

  const runner: SimulatedRunner = {
    pod: pod.metadata.name,
    uid,
    state: initialState(readyAt, jobsBefore),
    orders: [],
    mute: false,
    async finish() {
      if (running) await publish(running);
    },
    drain: () => change(onDrain(runner.state)),
    async beat() {
      if (runner.mute) return;
      try {
        const lease = await bus.request<Lease>(
          SUBJECT.heartbeat(uid),
          {
            ...heartbeatOf(runner.state, identity, readyAt, now()),
            ...(running && behaviour.progress !== undefined ? { progress: behaviour.progress } : {}),
            ...(behaviour.cores === undefined ? {} : { cores: behaviour.cores }),
          },
          1_500,
        );
        const { state, effects } = onLease(runner.state, lease, now());
        if (effects.some((effect) => effect.do === 'abandon')) running = undefined;
        if (lease.cancel) publications.get(`${lease.cancel.job}/${lease.cancel.attempt}`)?.abort();
        change(state);
      } catch {
        // There is no leader.
      }
    },
    leave() {
      runner.mute = true;
      for (const subscription of subscriptions.splice(0)) subscription.stop();
    },
    comeBack() {
      runner.mute = false;
      subscriptions.push(...listen());
      void runner.beat();
    },
    stop() {
      clearInterval(timer);
      for (const subscription of subscriptions) subscription.stop();
      for (const stop of publications.values()) stop.abort();
      running = undefined;
    },
  };

  const answer = (
    what: 'prepare' | 'go' | 'cancel',
    order: Prepare | Go | Cancel,
    given: OrderAnswer,
  ): OrderAnswer | undefined => {
    if (runner.mute) return undefined;
    runner.orders.push({ what, job: order.job, attempt: order.attempt, epoch: order.epoch, answer: given });
    return given;
  };
  const listen = (): Subscribed[] => [
    bus.serve<Prepare, OrderAnswer>(SUBJECT.prepare(uid), ({ message }) => {
      if (runner.mute) return undefined;
      const { state, answer: given } = onPrepare(runner.state, message, now());
      change(state);
      return answer('prepare', message, given);
    }),
    bus.serve<Go, OrderAnswer>(SUBJECT.go(uid), ({ message }) => {
      const will = behaviour.go(message, runner);
      if (runner.mute || will === 'silent') return undefined;
      if (typeof will === 'string' && will !== 'hold') return answer('go', message, { ok: false, why: will });
      const { state, answer: given, effects } = onGo(runner.state, message, now());
      change(state);
      if (effects.some((effect) => effect.do === 'run')) {
        running = message;
        log(message.job, message.attempt, uid);
        if (will !== 'hold')
          void delay(will.ms)
            .then(() => publish(message))
            .catch(() => {});
      }
      return answer('go', message, given);
    }),
    bus.serve<Cancel, OrderAnswer>(SUBJECT.cancel(uid), ({ message }) => {
      if (runner.mute) return undefined;
      const { state, answer: given } = onCancel(runner.state, message, now());
      if (running?.job === message.job && running.attempt === message.attempt) running = undefined;
      publications.get(`${message.job}/${message.attempt}`)?.abort();
      change(state);
      return answer('cancel', message, given.ok && behaviour.used ? { ...given, used: behaviour.used } : given);
    }),
    ...(behaviour.renew === 'unknown'
      ? []
      : [
          bus.serve<Renew, OrderAnswer>(SUBJECT.renew(uid), ({ message }) => {
            if (runner.mute) return undefined;
            if (behaviour.renew === 'refuse') return { ok: false, why: 'unclean' };
            const { state, answer: given } = onRenew(runner.state, message, now());
            change(state);
            if (!given.ok) return given;
            // After the answer, as the agent does.
            setTimeout(() => {
              runner.stop();
              next(life + 1, state.jobsDone);
            }, 5);
            return given;
          }),
        ]),
    bus.subscribe<Attempt>(SUBJECT.collected(uid), ({ message }) => collected(message)),
    bus.subscribe(SUBJECT.report, () => void runner.beat()),
  ];
  const subscriptions = listen();
  const timer = setInterval(() => {
    change(onTime(runner.state, now()).state);
    void runner.beat();
  }, behaviour.heartbeatMs);
  void runner.beat();
  return runner;
}

export interface SimulatedRunners {
  behaviour: Behaviour;
  all(): SimulatedRunner[];
  /** Jobs of all runners, in the order in which they started. */
  began: { job: string; attempt: number; uid: string }[];
  /** The runner that runs the job; a prepared job is not running. */
  of(job: string): SimulatedRunner | undefined;
  stop(): Promise<void>;
}

export async function simulateRunners(
  kube: KubeClient,
  bus: Bus,
  namespace: string,
  change: Partial<Behaviour> = {},
): Promise<SimulatedRunners> {
  const behaviour: Behaviour = {
    go: () => ({ ms: 5 }),
    result: success,
    heartbeatMs: 500,
    boot: true,
    protocol: RUNNER_PROTOCOL,
    renew: 'renew',
    ...change,
  };
  const runners = new Map<string, SimulatedRunner>();
  const began: SimulatedRunners['began'] = [];
  const gone = (pod: Pod): void => {
    runners.get(pod.metadata.uid ?? '')?.stop();
    runners.delete(pod.metadata.uid ?? '');
  };
  const boot = (pod: Pod, of?: { life: number; jobsBefore: number }): void => {
    const podUid = pod.metadata.uid ?? '';
    if (of && !runners.has(podUid)) return;
    const runner = startRunner(
      bus,
      pod,
      behaviour,
      (job, attempt, uid) => began.push({ job, attempt, uid }),
      (life, jobsBefore) => boot(pod, { life, jobsBefore }),
      of,
    );
    runners.set(podUid, runner);
  };
  const starts = ({ metadata, status }: Pod): boolean =>
    behaviour.boot === true ||
    (behaviour.boot === 'running' && status?.phase === 'Running' && !runners.has(metadata.uid ?? ''));
  const pods = startReflector<Pod>({
    client: kube,
    type: PODS,
    namespace,
    labelSelector: `${LABEL.component}=runner`,
    handlers: {
      add: (pod) => {
        if (starts(pod)) boot(pod);
      },
      update: (pod) => {
        if (behaviour.boot === 'running' && starts(pod)) boot(pod);
      },
      delete: gone,
    },
  });
  await pods.synced;
  return {
    behaviour,
    began,
    all: () => [...runners.values()],
    of: (job) => [...runners.values()].find(({ state: { task } }) => task?.job === job && task.stage === 'running'),
    async stop() {
      await pods.stop();
      for (const runner of runners.values()) runner.stop();
      runners.clear();
    },
  };
}
