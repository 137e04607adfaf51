/**
 * The controller alone, at a size that no node here can run: what one plan of a pool, one heartbeat and one choice of a
 * runner cost, by runners and by accounts that wait. A pool is planned at most twenty times a second, a runner reports
 * every two seconds and around each job. `npm exec -- node bench/scale/plan.ts [runs]`.
 */
import { RUNNER_PROTOCOL, type Heartbeat } from '../../src/platform/bus/messages.ts';
import { planPool, type PoolView } from '../../src/service/controller/pools/plan.ts';
import { Runners, type Runner } from '../../src/service/controller/pools/runners.ts';
import { facts } from '../../test/controller/runner_fixture.ts';
import { inWords, undisturbed } from '../undisturbed.ts';

const runs = Number(process.argv[2] ?? 40);
const NOW = 1_000_000;
const POOL = 'short';

interface Size {
  runners: number;
  /** Accounts that hold them. */
  holders: number;
  /** Accounts that wait, half of them without a runner. */
  waiting: number;
}
const SIZES: Size[] = [
  { runners: 50, holders: 25, waiting: 20 },
  { runners: 500, holders: 250, waiting: 0 },
  { runners: 500, holders: 250, waiting: 200 },
  { runners: 5_000, holders: 2_500, waiting: 0 },
  { runners: 5_000, holders: 2_500, waiting: 200 },
  { runners: 5_000, holders: 2_500, waiting: 2_000 },
];

const beat = (index: number, phase: 'idle' | 'running', jobsDone: number): Heartbeat => ({
  uid: `u${index}`,
  pod: `p${index}`,
  namespace: 'runners',
  pool: POOL,
  generation: 'g',
  epoch: 1,
  ageMs: 9_000,
  idleMs: 500,
  protocol: RUNNER_PROTOCOL,
  phase,
  jobsDone,
  ...(phase === 'running' ? { job: `j${index}`, attempt: 1 } : {}),
});

/** Nine of ten runners are busy. */
function poolOf({ runners, holders }: Size): Runners {
  const pool = new Runners();
  for (let index = 0; index < runners; index++) {
    const uid = `u${index}`;
    pool.pod(facts(uid, { pod: `p${index}`, pool: POOL, generation: 'g', node: 'n' }), NOW - 9_000);
    pool.bind(uid, `a:${index % holders}`, index % holders);
    pool.heartbeat(beat(index, index % 10 === 0 ? 'idle' : 'running', 3), NOW - 500);
  }
  return pool;
}

function viewOf(size: Size, runners: readonly Runner[]): PoolView {
  return {
    spec: {
      serves: { kinds: ['file'] },
      minReady: Math.ceil(size.runners / 50),
      maxPods: size.runners,
      maxPodsPerTenant: 50,
      reuse: { scope: 'account', maxJobs: 200, maxAgeSeconds: 3_600, idleSeconds: 120 },
    },
    generation: 'g',
    runners,
    unseen: 0,
    demand: {
      waiting: Array.from({ length: size.waiting }, (_, index) => {
        const account = size.holders - size.waiting / 2 + index;
        return { tenant: `a:${account}`, account, jobs: 2, waitMs: 1_500 };
      }),
      drainPerSecond: 40,
    },
    holdBack: false,
    now: NOW,
  };
}

for (const size of SIZES) {
  const pool = poolOf(size);
  const all = [...pool.inPool(POOL)];
  let at = 0;
  const costs = undisturbed(
    {
      plan: () => planPool(viewOf(size, [...pool.inPool(POOL)])),
      // Together, because one of them is too short to be timed.
      'a thousand heartbeats': () => {
        for (let count = 0; count < 1_000; count++) {
          const index = at++ % size.runners;
          pool.heartbeat(beat(index, index % 10 === 0 ? 'idle' : 'running', 3), NOW);
        }
      },
      'a thousand choices': () => {
        for (let count = 0; count < 1_000; count++) {
          const account = at++ % size.holders;
          const runner = pool.choose(
            POOL,
            `a:${account}`,
            () => true,
            () => true,
          );
          if (!runner) continue;
          pool.reserve(runner, 'job', 1, `a:${account}`, account);
          pool.release(runner.uid, 'job', NOW);
        }
      },
    },
    runs,
  );
  console.log(
    `${size.runners} runners of ${size.holders} accounts, ${size.waiting} accounts wait (${all.length} runners)`,
  );
  for (const [what, cost] of Object.entries(costs)) console.log(`  ${what.padEnd(22)} ${inWords(cost)}`);
}
