/** Many cases against the whole interface: `make fuzz-api`, or `node test/fuzz/api/run.ts [examples of each operation] [seed] [filter...]`. */
import { stopApiServers } from '../../kube/apiserver.ts';
import { startFuzzRig } from './rig.ts';
import { runSchemathesis, schemathesis } from './schemathesis.ts';

const [examples = '500', seed = String(Date.now() % 1_000_000_000), ...include] = process.argv.slice(2);
const program = schemathesis();
if (program === null) process.exit(1);
const rig = await startFuzzRig();
console.log(`seed ${seed}, at most ${examples} examples of each operation`);
try {
  const { ok, cases, statuses } = await runSchemathesis(program, { url: rig.api.url, token: rig.api.token, seed: Number(seed), examples: Number(examples), phases: 'examples,coverage,fuzzing', include }, (text) => process.stdout.write(text));
  console.log(`\nseed ${seed}: ${cases} cases, ${rig.ended()} requests accepted and ended; answers by status ${JSON.stringify(statuses)}; ${ok ? 'no answer outside its schema' : 'FAILED'}`);
  const errors = rig.api.log.filter((line) => line.includes('"level":50'));
  for (const line of errors.slice(0, 20)) console.log(line.slice(0, 1_500));
  process.exitCode = ok ? 0 : 1;
} finally {
  await rig.stop();
  await stopApiServers();
}
