/** The summary of a C2PA report: the state, the signer, the AI declaration and the actions. */
import assert from 'node:assert/strict';
import { newAuthority, newSigner, type Signer } from './pki.ts';
import { C2paRig, programs, WHY_SKIPPED, type Signing } from './rig.ts';
import { sampleOf } from './samples.ts';

const SOURCE = 'http://cv.iptc.org/newscodes/digitalsourcetype/';
const actions = (...list: object[]): object => ({
  assertions: [{ label: 'c2pa.actions', data: { actions: list } }],
});
const GENERATED = actions({ action: 'c2pa.edited', digitalSourceType: `${SOURCE}trainedAlgorithmicMedia` });
const COMPOSITE = actions({
  action: 'c2pa.edited',
  digitalSourceType: `${SOURCE}compositeWithTrainedAlgorithmicMedia`,
});
const BY_TOOL = {
  assertions: [{ label: 'com.adobe.generative-ai', data: { description: 'a model', version: '1' } }],
};

describe('summary of a C2PA report', function () {
  this.timeout(60_000);
  if (!programs) {
    it.skip(`skipped: ${WHY_SKIPPED}`);
    return;
  }
  const rig = new C2paRig();
  const jpeg = sampleOf('JPEG');
  let signer: Signer;
  let trusting: string;
  before(async () => {
    const authority = await newAuthority('Root');
    signer = await newSigner(authority);
    trusting = rig.trusting(authority);
  });
  after(() => rig.close());

  const signed = (more: Partial<Signing> = {}): Buffer => rig.sign([{ ...jpeg, signer, ...more }])[0]!;
  const summary = async (file: Buffer) => (await rig.report(file, trusting)).summary!;

  it('has the state, the signer and the actions', async () => {
    const file = signed({ definition: actions({ action: 'c2pa.cropped', softwareAgent: 'A cropper 1.0' }) });
    const said = await summary(file);
    assert.deepEqual([said.state, said.signer?.organization, said.declared_ai], ['Trusted', 'Probeyard tests', null]);
    assert.equal(typeof said.signer?.common_name, 'string');
    assert.deepEqual(
      said.actions.map(({ action, software, source_type: type }) => [action, software, type]),
      [
        ['c2pa.created', null, 'digitalCapture'],
        ['c2pa.cropped', 'A cropper 1.0', null],
      ],
    );
    assert.equal((await rig.report(file)).summary?.state, 'Valid');
    const changed = Buffer.from(file);
    changed[changed.length - 4]! ^= 1;
    assert.equal((await summary(changed)).state, 'Invalid');
  });

  const DECLARED: [string, object, string | null][] = [
    ['an action of a model', GENERATED, 'generated'],
    ['a composite with what a model made', COMPOSITE, 'composite'],
    ['an assertion of a generative tool', BY_TOOL, 'unspecified'],
    [
      'an algorithm without training',
      actions({ action: 'c2pa.edited', digitalSourceType: `${SOURCE}algorithmicMedia` }),
      null,
    ],
    [
      'a type with a similar name',
      actions({ action: 'c2pa.edited', parameters: { description: 'trainedAlgorithmicMedia' } }),
      null,
    ],
  ];
  for (const [what, definition, expected] of DECLARED)
    it(`declares ${expected} for ${what}`, async () =>
      assert.equal((await summary(signed({ definition }))).declared_ai, expected));

  it('follows the ingredients of a file', async () => {
    const ai = signed({ definition: GENERATED });
    const edited = signed({ bytes: ai, ingredient: ai });
    assert.equal((await summary(edited)).declared_ai, 'generated');
    assert.equal((await summary(signed({ bytes: edited, ingredient: edited }))).declared_ai, 'generated');
    assert.equal((await summary(signed({ component: ai }))).declared_ai, 'composite');
    const plain = signed();
    assert.equal((await summary(signed({ bytes: plain, ingredient: plain }))).declared_ai, null);
  });

  it('is bounded in size for any manifest', async () => {
    const long = '\u{1f3ac}'.repeat(10_000);
    const many = Array.from({ length: 500 }, () => ({ action: 'c2pa.edited', softwareAgent: long }));
    const { actions: shown } = await summary(signed({ definition: actions(...many) }));
    assert.equal(shown.length, 64);
    assert.equal([...shown.at(-1)!.software!].length, 256);
  });
});
