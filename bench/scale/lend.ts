/**
 * Runners between shards. Only the shard that has a runner gives it away, and only one that is at no job and that no
 * account holds: untouched ones, and all of a pool of the scope `any`. It first stops giving it jobs, then writes the
 * label of the pod, if the pod is as it was last seen.
 */
import type { Bus } from '../../src/platform/bus/connect.ts';
import { isKubeError, PODS } from '../../src/platform/kube/client.ts';
import { runnerState, type Runner } from '../../src/service/controller/pools/runners.ts';
import type { RunningTerm } from '../../src/service/controller/term.ts';
import { SHARD, type Shard } from './shard.ts';

export interface Side {
  /** Runners that it may have while others wait, and those that it has. */
  share: number;
  used: number;
  /** Jobs that lack only a runner. */
  waiting: number;
}

/** Runners that nobody uses stay for the next job of the shard, which would otherwise wait for a loan. */
const KEPT = 1;

/**
 * How many runners the one that has `idle` ones gives to the one that asks. What it does not need it lends. While both
 * wait, the one below its share gets back what the other has above its own.
 */
export function toGive(giver: Side & { idle: number }, asker: Side): number {
  const spare = Math.max(0, giver.idle - Math.max(giver.waiting, KEPT));
  const lent = Math.min(spare, asker.waiting);
  const due = Math.min(asker.waiting, asker.share - asker.used, giver.used - giver.share);
  return Math.max(lent, due);
}

interface Ask extends Side {
  shard: number;
  pool: string;
  epoch: number;
}

const LOOK_MS = 100;
const ANSWER_MS = 500;
/** What was given is shown by the watch by then. */
const COMING_MS = 400;
const subject = (shard: number): string => `bench.lend.${shard}`;

export const isIdle = (runner: Runner): boolean => runnerState(runner) === 'idle' && runner.tenant?.[1] !== ':';

function sideOf(shard: Shard, term: RunningTerm, pool: string): Side & { idle: number } {
  const { share, used } = shard.room(pool);
  const idle = [...term.runners.inPool(pool)].filter(isIdle).length;
  const demand = term.leader.demand(pool).reduce((sum, { jobs }) => sum + jobs, 0);
  return { share, used, idle, waiting: Math.max(0, demand - idle) };
}

/** Asks for runners while jobs of the shard wait for one, and gives. */
export function lending(shard: Shard, bus: Bus): { given: () => number } {
  const leaving = new Map<string, number>();
  let given = 0;
  let quietUntil = 0;

  const leave = async (term: RunningTerm, uid: string, to: number): Promise<void> => {
    const runner = term.runners.get(uid);
    if (!runner || !term.stillLeading()) return void leaving.delete(uid);
    if (runner.task || runner.phase !== 'idle') return;
    leaving.delete(uid);
    const at = { namespace: term.deps.config.runnerNamespace, resourceVersion: runner.version };
    try {
      await term.deps.kube.mergePatch(PODS, runner.pod, { metadata: { labels: { [SHARD]: String(to) } } }, at);
      given += 1;
    } catch (error) {
      if (!isKubeError(error, 'not-found')) leaving.set(uid, to);
    }
  };

  bus.serve<Ask, number>(subject(shard.index), ({ message: ask }) => {
    const term = shard.term();
    // Its agent would refuse the orders of an older term.
    if (!term || term.term.epoch > ask.epoch) return undefined;
    const own = sideOf(shard, term, ask.pool);
    const movable = [...term.runners.inPool(ask.pool)]
      .filter(({ tenant, deleting, renewing }) => tenant?.[1] !== ':' && !deleting && !renewing)
      .sort(
        (a, b) =>
          Number(isIdle(b)) - Number(isIdle(a)) ||
          Number(shard.homeOf(b.podUid) === ask.shard) - Number(shard.homeOf(a.podUid) === ask.shard),
      )
      .slice(0, toGive({ ...own, used: own.used - leaving.size }, ask));
    for (const { uid } of movable) {
      term.runners.renew(uid, false);
      leaving.set(uid, ask.shard);
      void leave(term, uid, ask.shard);
    }
    return movable.length;
  });

  const look = async (): Promise<void> => {
    const term = shard.term();
    if (!term?.stillLeading()) return;
    for (const [uid, to] of leaving) void leave(term, uid, to);
    if (performance.now() < quietUntil) return;
    for (const pool of term.pools.names()) {
      const { idle: _, ...side } = sideOf(shard, term, pool);
      if (side.waiting === 0) continue;
      for (let other = 0; other < shard.of; other++) {
        if (other === shard.index) continue;
        quietUntil = performance.now() + COMING_MS;
        const ask: Ask = { ...side, shard: shard.index, pool, epoch: term.term.epoch };
        const got = await bus.request<number>(subject(other), ask, ANSWER_MS).catch(() => 0);
        if (got === 0) quietUntil = performance.now();
      }
    }
  };
  setInterval(() => void look(), LOOK_MS).unref();
  return { given: () => given };
}
