import assert from 'node:assert/strict';
import { newAuthority, newSigner } from './pki.ts';
import { C2paRig, programs, WHY_SKIPPED } from './rig.ts';
import { sampleOf } from './samples.ts';

const SIDE_BY_SIDE = 4;
/** All bytes would take minutes: each run tries another part of them, and all with C2PA_FLIPS=all. */
const STRIDE = process.env['C2PA_FLIPS'] === 'all' ? 1 : 19;
/** Space reserved for the signature to grow: a run of zeros that is not signed. */
const PADDING = 512;
const IN_PADDING = 8;
/**
 * The maximum size of the container's own framing around the store, such as an APP11 segment, a RIFF chunk or a uuid
 * box.
 */
const FRAMING = 48;

interface Span {
  from: number;
  to: number;
}
const inside = (at: number, { from, to }: Span): boolean => at >= from && at < to;

function paddingOf(file: Buffer): Span {
  const zeros = file.indexOf(Buffer.alloc(PADDING), file.indexOf('c2pa.signature', 0, 'latin1'));
  assert.ok(zeros > 0, 'there is padding');
  const end = file.subarray(zeros).findIndex((byte) => byte !== 0);
  // Including its name in the unprotected header of the signature.
  return { from: file.lastIndexOf('cpad', zeros, 'latin1'), to: end < 0 ? file.length : zeros + end };
}

/**
 * Whether an offset is signed, which includes the media, the contents of assertions and claims, and the signature
 * itself. Box headers are excluded, because the signed data repeats their values.
 */
function signedIn(file: Buffer, padding: Span): (at: number) => boolean {
  const begin = file.indexOf('jumb', 0, 'latin1') - 4;
  const store: Span = { from: begin - FRAMING, to: begin + file.readUInt32BE(begin) };
  const contents: Span[] = [];
  const walk = (from: number, to: number): void => {
    for (let at = from; at + 8 <= to; at += Math.max(8, file.readUInt32BE(at))) {
      const type = file.toString('latin1', at + 4, at + 8);
      const end = at + file.readUInt32BE(at);
      if (type === 'jumb') walk(at + 8, end);
      else if (type !== 'jumd') contents.push({ from: at + 8, to: end });
    }
  };
  walk(begin, store.to);
  assert.ok(contents.length >= 4, 'assertions, a claim and a signature');
  // The standard excludes the first box of ISO files from their hash.
  const brands: Span = { from: 0, to: file.toString('latin1', 4, 8) === 'ftyp' ? file.readUInt32BE(0) : 0 };
  return (at) =>
    !inside(at, padding) &&
    !inside(at, brands) &&
    (!inside(at, store) || contents.some((content) => inside(at, content)));
}

/** The offsets to try: every STRIDE-th byte, and a few of the padding. */
function placesOf(file: Buffer, padding: Span): number[] {
  const begin = Math.floor(Math.random() * STRIDE);
  const places = [...file.keys()].filter((at) => !inside(at, padding)).filter((_, index) => index % STRIDE === begin);
  return [
    ...places,
    ...Array.from({ length: IN_PADDING }, () => padding.from + Math.floor(Math.random() * (padding.to - padding.from))),
  ];
}

describe('C2PA check of a signed file with one byte changed', function () {
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
      const [file] = rig.sign([
        {
          ...sample,
          ...(name === 'MP4' ? { bytes: sampleOf('M4A').bytes, format: 'audio/mp4' } : {}),
          signer: await newSigner(authority),
        },
      ]) as [Buffer];
      const config = rig.trusting(authority);
      const whole = await rig.report(file, config);
      assert.equal(whole.validation_state, 'Trusted');

      const padding = paddingOf(file);
      const places = placesOf(file, padding);
      const tried = places.length;
      const passed: number[] = [];
      let refused = 0;
      await Promise.all(
        Array.from({ length: SIDE_BY_SIDE }, async () => {
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
            if (report.validation_state !== 'Valid' && report.validation_state !== 'Trusted') continue;
            passed.push(at);
            // The change affected nothing that the manifest says.
            assert.deepEqual(report.manifests, whole.manifests, `byte ${at}`);
          }
        }),
      );
      const signed = signedIn(file, padding);
      console.log(
        `      ${name}: ${tried} bytes of ${file.length} changed: ${refused} refused, ` +
          `${tried - refused - passed.length} Invalid or without a manifest, ${passed.length} where nothing is ` +
          'signed',
      );
      assert.deepEqual(passed.filter(signed), []);
    });
  }
});
