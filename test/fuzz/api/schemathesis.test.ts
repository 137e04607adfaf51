/**
 * Generated requests to every probe endpoint: no 5xx, and no response outside its schema. `make fuzz-api` is the long
 * form, for the whole API.
 */
import assert from 'node:assert/strict';
import { startFuzzRig, type FuzzRig } from './rig.ts';
import { runSchemathesis, schemathesis } from './schemathesis.ts';

const SEED = 20_261_121;
const EXAMPLES = 25;

describe('generated requests', function () {
  this.timeout(240_000);
  let rig: FuzzRig | undefined;
  let program: string | null;
  before(async function () {
    program = schemathesis();
    if (program === null) return this.skip();
    rig = await startFuzzRig();
  });
  after(() => rig?.stop());

  it(`to every probe endpoint get a described response, never a 5xx: seed ${SEED}`, async () => {
    const { api } = rig!;
    const fuzzed = await runSchemathesis(program!, {
      url: api.url,
      token: api.token,
      seed: SEED,
      examples: EXAMPLES,
      phases: 'examples,fuzzing',
      include: ['--include-tag', 'probe'],
    });
    console.log(`        ${fuzzed.cases} cases, seed ${SEED}, answers by status ${JSON.stringify(fuzzed.statuses)}`);
    assert.ok(fuzzed.ok, fuzzed.text.slice(-6_000));
    assert.ok(fuzzed.cases >= 200, `${fuzzed.cases} cases`);
    assert.ok(rig!.ended() > 0, 'some of them were accepted');
  });
});
