/**
 * Random faults, two at a time, for as long as wanted: `node test/faults/soak.ts --minutes 60 --seed 7`. Each round has its own load
 * and its own reckoning; the first that does not add up ends the run, and its seed and round repeat it.
 */
import { parseArgs } from 'node:util';
import { cluster } from '../cluster/fixture.ts';
import { drawPairs, injectionOf } from './pairs.ts';
import { moment, settled, underLoad } from './load.ts';
import { memoryOf } from './memory.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' }, seed: { type: 'string', default: String(Date.now() % 100_000) }, rounds: { type: 'string', default: '1000' } } });
const seed = Number(values.seed);
const until = performance.now() + Number(values.minutes) * 60_000;

console.log(`seed ${seed}, ${values.minutes} minutes`);
const c = await cluster();
let requests = 0;
try {
  for (const [round, { first, second, afterMs }] of drawPairs(seed, Number(values.rounds)).entries()) {
    if (performance.now() > until) break;
    const { total, statuses, most, ms } = await underLoad(c, async () => {
      const one = injectionOf(first)(c);
      const two = moment(afterMs).then(() => injectionOf(second)(c));
      const ends = await Promise.allSettled([one, two]);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    });
    await settled(c);
    requests += total;
    console.log(`round ${round}: ${first} and ${second} after ${afterMs} ms: ${total} requests, told ${JSON.stringify(statuses)}, most at once ${Math.max(0, ...Object.values(most))}, ${Math.round(ms / 1000)} s; memory api ${memoryOf('api')} MB, controller ${memoryOf('controller')} MB`);
  }
  console.log(`${requests} requests: each has one end, no token was above its limit`);
} catch (error) {
  console.error(`seed ${seed}:`, error);
  process.exitCode = 1;
} finally {
  await c.close();
}
