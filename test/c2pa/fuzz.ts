/**
 * Runs the C2PA check on changed files: `npm exec -- node test/c2pa/fuzz.ts [cases] [seed]`. The tests run a short
 * form.
 */
import assert from 'node:assert/strict';
import { mutate } from './mutate.ts';
import { newAuthority, newSigner } from './pki.ts';
import type { C2paReport } from '../../src/media/tools/c2pa_schema.ts';
import { C2paRig, programs, WHY_SKIPPED } from './rig.ts';
import { SAMPLES } from './samples.ts';

const SIDE_BY_SIDE = 2;
const SLOW_MS = 20_000;

export interface Fuzzed {
  cases: number;
  seed: number;
  invalid: number;
  none: number;
  refused: number;
  unchanged: number;
  slowestMs: number;
}

/** The approximate position of the manifest that was added by signing. */
function manifestIn(signed: Buffer): { from: number; to: number } {
  const from = Math.max(0, signed.indexOf('jumb') - 64);
  return { from, to: Math.min(signed.length, from + 20_000) };
}

export async function fuzz(cases: number, seed: number): Promise<Fuzzed> {
  const rig = new C2paRig();
  const result: Fuzzed = { cases, seed, invalid: 0, none: 0, refused: 0, unchanged: 0, slowestMs: 0 };
  try {
    const authority = await newAuthority('Root');
    const signer = await newSigner(authority);
    const config = rig.trusting(authority);
    const signed = rig.sign(
      SAMPLES.map(({ bytes, format, marker }) => ({ bytes, format, signer, ...(marker ? { marker } : {}) })),
    );
    const whole = await Promise.all(signed.map((file) => rig.report(file, config)));
    let at = 0;
    const one = async (index: number): Promise<void> => {
      const which = index % signed.length;
      const what = `case ${index} (${SAMPLES[which]!.name}, seed ${seed})`;
      const file = mutate(signed[which]!, seed * 1_000_003 + index, manifestIn(signed[which]!));
      const began = performance.now();
      const { code, signal, stdout, stderr } = await rig.check(file, config);
      const ms = performance.now() - began;
      result.slowestMs = Math.max(result.slowestMs, Math.round(ms));
      assert.ok(ms < SLOW_MS, `${what}: took ${ms} ms`);
      assert.equal(signal, null, `${what}: ended by ${signal}`);
      if (code !== 0) {
        assert.match(stderr, /^[^\n]+\n$/, what);
        result.refused += 1;
        return;
      }
      const report = JSON.parse(stdout) as C2paReport;
      assert.equal(report.summary?.state, report.validation_state ?? 'none', what);
      if (report.validation_state === null) result.none += 1;
      else if (report.validation_state === 'Invalid') result.invalid += 1;
      else {
        // Unsigned bytes may change. The report is then that of the intact file.
        assert.deepEqual(
          report.manifests,
          whole[which]!.manifests,
          `${what}: ${report.validation_state}, and says something else`,
        );
        result.unchanged += 1;
      }
    };
    await Promise.all(
      Array.from({ length: SIDE_BY_SIDE }, async () => {
        while (at < cases) await one(at++);
      }),
    );
    return result;
  } finally {
    rig.close();
  }
}

if (import.meta.main) {
  if (!programs) throw new Error(WHY_SKIPPED);
  const [cases = '10000', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2);
  console.log(await fuzz(Number(cases), Number(seed)));
}
