/** A pool on a node that is too busy to start its pods in time, as the leader's decisions together let it recover. */
import assert from 'node:assert/strict';
import { MAX_STARTING, planPool, START_HOPE_MS } from '../../src/service/controller/pools/plan.ts';
import type { Runner } from '../../src/service/controller/pools/runners.ts';
import {
  NO_FAILED_STARTS,
  afterFailedStart,
  afterQuickStart,
  bootPatienceMs,
} from '../../src/service/controller/retry_policy.ts';
import { idleRunner } from './runner_fixture.ts';

const MIN_READY = 13;
const spec = {
  serves: { kinds: ['file' as const] },
  minReady: MIN_READY,
  maxPods: 20,
  reuse: { scope: 'account' as const, maxJobs: 200, maxAgeSeconds: 3_600, idleSeconds: 120 },
};

interface Start {
  runner: Runner;
  /** Seconds of the node's time that it has had. */
  had: number;
}

/** `aloneS`: how long one pod takes to start. Several share the node's time. By second, until all are ready. */
function recover(aloneS: number): { seconds: number; mostAtOnce: number; ended: number } {
  const ready: Runner[] = [];
  let starts: Start[] = [];
  let failedStarts = NO_FAILED_STARTS;
  let [mostAtOnce, ended] = [0, 0];
  for (let seconds = 0; seconds < 3_600; seconds++) {
    const now = seconds * 1_000;
    const late = starts.filter(({ runner }) => now - runner.createdAt > bootPatienceMs(failedStarts));
    for (const { runner } of late) failedStarts = afterFailedStart(failedStarts, runner.createdAt, now);
    ended += late.length;
    starts = starts.filter((one) => !late.includes(one));
    const { create } = planPool({
      spec,
      generation: 'g2',
      runners: [...ready, ...starts.map(({ runner }) => runner)],
      unseen: 0,
      demand: { waiting: [], drainPerSecond: 0 },
      failedStarts,
      holdBack: false,
      now,
    });
    for (let made = 0; made < create; made++) starts.push({ runner: idleRunner(now, { phase: 'starting' }), had: 0 });
    mostAtOnce = Math.max(mostAtOnce, starts.length);
    for (const one of starts) one.had += 1 / starts.length;
    for (const { runner } of starts.filter(({ had }) => had >= aloneS)) {
      ready.push({ ...runner, phase: 'idle', idleSince: now });
      if (now - runner.createdAt < START_HOPE_MS) failedStarts = afterQuickStart(failedStarts);
    }
    starts = starts.filter(({ had }) => had < aloneS);
    if (ready.length === MIN_READY) return { seconds, mostAtOnce, ended };
  }
  throw new Error(`${ready.length} of ${MIN_READY} runners are ready after an hour, ${ended} were ended`);
}

describe('a pool whose pods do not start in time', () => {
  for (const [aloneS, longest] of [
    [1, 20],
    [10, 200],
    [30, 900],
    [100, 3_000],
  ] as const)
    it(`fills, where a pod alone takes ${aloneS} s to start`, () => {
      const { seconds, mostAtOnce, ended } = recover(aloneS);
      assert.ok(seconds <= longest, `${seconds} s`);
      assert.ok(mostAtOnce <= MAX_STARTING, `${mostAtOnce} pods at once`);
      assert.ok(ended <= MIN_READY, `${ended} pods ended`);
    });
});
