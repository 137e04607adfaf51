/** The signals of EBU Tech 3341 and 3342, measured in a real agent by the program of the image. */
import assert from 'node:assert/strict';
import { EBU_CASES, signalWav } from '../qc/signals.ts';
import { QcRig } from './qc_rig.ts';

describe('content checks in an agent, by the program of the image', function () {
  this.timeout(60_000);
  const rig = new QcRig();
  before(async function () {
    await rig.start();
    await rig.newAgent();
    rig.serveMedia();
    if (!(await rig.unpackPrograms())) this.skip();
  });
  after(() => rig.stop());

  for (const { name, signal, fact, is, within } of EBU_CASES)
    it(`measure as EBU Tech ${name} asks: ${fact} ${is}`, async () => {
      const [{ loudness } = assert.fail('no sound')] = (await rig.check(signalWav(signal))).audio;
      const value = loudness[fact];
      assert.ok(value !== null && value >= is - within[0] && value <= is + within[1], `${value}`);
    });
});
