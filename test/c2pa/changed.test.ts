import assert from 'node:assert/strict';
import { newAuthority, newSigner } from './pki.ts';
import { C2paRig, programs, WHY_SKIPPED } from './rig.ts';
import { sampleOf } from './samples.ts';

/** A byte that no signature covers: the library leaves the manifest's own place out of the hash, and padding in it means nothing. */
const SIDE_BY_SIDE = 4;
/** All of them take a minute: a part of them here, each run another part; all with C2PA_FLIPS=all. */
const STRIDE = process.env['C2PA_FLIPS'] === 'all' ? 1 : 23;

describe('a signed file with one byte changed', function () {
  this.timeout(600_000);
  if (!programs) {
    it.skip(`skipped: ${WHY_SKIPPED}`);
    return;
  }
  const rig = new C2paRig();
  after(() => rig.close());

  for (const name of ['JPEG', 'MP4', 'WAV'] as const) {
    it(`is never Valid or Trusted: ${name}`, async () => {
      const authority = await newAuthority('Root');
      const sample = sampleOf(name);
      const [file] = rig.sign([{ ...sample, ...(name === 'MP4' ? { bytes: sampleOf('M4A').bytes, format: 'audio/mp4' } : {}), signer: await newSigner(authority) }]) as [Buffer];
      const config = rig.trusting(authority);
      const whole = await rig.report(file, config);
      assert.equal(whole.validation_state, 'Trusted');

      const begin = Math.floor(Math.random() * STRIDE);
      const places = Array.from({ length: Math.ceil((file.length - begin) / STRIDE) }, (_, index) => begin + index * STRIDE);
      const passed: { at: number; state: string | null }[] = [];
      let refused = 0;
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, async () => {
        for (let at = places.pop(); at !== undefined; at = places.pop()) {
          const changed = Buffer.from(file);
          changed[at]! ^= 0x20;
          const { code, signal, stdout, stderr } = await rig.check(changed, config);
          assert.equal(signal, null, `byte ${at}: ended by ${signal}`);
          if (code !== 0) {
            assert.match(stderr, /\S/, `byte ${at} is refused without a word`);
            refused += 1;
            continue;
          }
          const report = JSON.parse(stdout);
          if (report.validation_state === 'Valid' || report.validation_state === 'Trusted') passed.push({ at, state: report.validation_state });
        }
      }));
      // What still passes must say what the whole file said: then nothing that is signed was changed.
      const harmful: number[] = [];
      for (const { at } of passed) {
        const changed = Buffer.from(file);
        changed[at]! ^= 0x20;
        const report = await rig.report(changed, config);
        if (JSON.stringify(report.manifests) !== JSON.stringify(whole.manifests)) harmful.push(at);
      }
      console.log(`      ${name}: ${file.length} bytes, every ${STRIDE}. from ${begin}: ${refused} refused, ${passed.length} in what nothing signs (${passed.slice(0, 8).map(({ at }) => at).join(' ')}), the others Invalid`);
      assert.deepEqual(harmful, []);
    });
  }
});
