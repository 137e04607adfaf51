/**
 * Random faults, two at a time, for the given time: `node test/faults/soak/run.ts --minutes 60 --seed 7`. Each round
 * has its own load and reckoning. The first failed reckoning ends the run, and its seed and round repeat it. A complete
 * run is written to docs/reports/faults.md, and fails if the memory of a part grew.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { lifeOfPod } from '../../../src/service/controller/pools/pod.ts';
import { PODS, PROBE_POOLS } from '../../../src/platform/kube/client.ts';
import { LABEL } from '../../../src/platform/kube/resource.ts';
import { NAMESPACE, RUNNERS, cluster } from '../../cluster/fixture.ts';
import { writePart } from '../../../docs/tables/part.ts';
import { underLoad } from '../load.ts';
import { drawPairs, injectPair } from '../pairs.ts';
import { withoutDelays } from '../whole.ts';
import { memory } from '../memory.ts';
import { isHarmed, paceOf } from '../pace.ts';
import { grown, soakPage, type Round } from './page.ts';

const DOCUMENT = join(import.meta.dirname, '..', '..', '..', 'docs', 'reports', 'faults.md');

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    rounds: { type: 'string', default: '1000' },
  },
});
const seed = Number(values.seed);
const minutes = Number(values.minutes);
const started = performance.now();
const until = started + minutes * 60_000;

console.log(`seed ${seed}, ${minutes} minutes`);
const c = await cluster();
const pool = await c.kube.get(PROBE_POOLS, 'short', { namespace: NAMESPACE });
const { scope = 'account', renew } = pool.spec.reuse ?? {};
const lives = new Map<string, number>();
const countLives = async (): Promise<void> => {
  const labelSelector = `${LABEL.component}=runner,${LABEL.pool}=short`;
  for (const pod of (await c.kube.list(PODS, { namespace: RUNNERS, labelSelector })).items)
    lives.set(pod.metadata.name, lifeOfPod(pod) + 1);
};
const paceBefore = await paceOf(c);
const rounds: Round[] = [];
try {
  for (const [round, pair] of drawPairs(seed, Number(values.rounds)).entries()) {
    if (performance.now() > until) break;
    const { first, second, afterMs } = pair;
    console.log(`round ${round}: ${first}, and ${second} ${afterMs} ms later`);
    const { total, statuses, most, ms, longestGapMs } = await underLoad(c, () => injectPair(c, pair));
    await withoutDelays(c);
    await countLives();
    const now: Round = {
      faults: [first, second],
      requests: total,
      statuses,
      most: Math.max(0, ...Object.values(most)),
      longestGapMs,
      memory: memory('Pss'),
    };
    rounds.push(now);
    console.log(
      `  ${total} requests, told ${JSON.stringify(statuses)}, most at once ${now.most}, ` +
        `${Math.round(longestGapMs / 100) / 10} s without a 200 at most, ` +
        `${Math.round(ms / 1000)} s; memory in MB ${JSON.stringify(now.memory)}`,
    );
  }
  const pace = { before: paceBefore, after: await paceOf(c) };
  const total = [...lives.values()].reduce((sum, count) => sum + count, 0);
  const page = soakPage(rounds, {
    seed,
    minutes: Math.round((performance.now() - started) / 60_000),
    date: new Date().toISOString().slice(0, 10),
    runners:
      renew === 'process'
        ? `Runners are renewed for the next ${scope}: ${lives.size} pods were seen after the rounds, in ${total} lives.`
        : `The next ${scope} gets a new pod.`,
  });
  writePart(DOCUMENT, renew === 'process' ? 'soak, renewed' : 'soak', page);
  console.log(`\n${page}`);
  const larger = grown(rounds);
  console.log(`pace before and after: ${JSON.stringify(pace)}`);
  if (isHarmed(pace.after, pace.before)) throw new Error('slower after the soak than before it');
  if (larger.length > 0) throw new Error(`the memory of ${larger.join(' and ')} grew`);
} catch (error) {
  console.error(`seed ${seed}, round ${rounds.length}:`, error);
  process.exitCode = 1;
} finally {
  await c.close();
}
// A failed round leaves its watch and callers, which would never end.
process.exit();
