import assert from 'node:assert/strict';
import { newAuthority, newSigner, SERVER_AUTH, type Authority, type Signer } from './pki.ts';
import { C2paRig, failures, programs, WHY_SKIPPED } from './rig.ts';
import { SAMPLES, sampleOf } from './samples.ts';

const NOTHING = {
  active_manifest: null,
  manifests: {},
  validation_state: null,
  validation_results: null,
  summary: { state: 'none', signer: null, declared_ai: null, actions: [] },
};

describe('C2PA check', function () {
  this.timeout(60_000);
  if (!programs) {
    it.skip(`skipped: ${WHY_SKIPPED}`);
    return;
  }
  const rig = new C2paRig();
  let authority: Authority;
  let signer: Signer;
  let signed: Buffer[];
  let trusting: string;
  before(async () => {
    authority = await newAuthority('Root');
    signer = await newSigner(authority);
    signed = rig.sign(
      SAMPLES.map(({ bytes, format, marker }) => ({ bytes, format, signer, ...(marker ? { marker } : {}) })),
    );
    trusting = rig.trusting(authority);
  });
  after(() => rig.close());

  for (const [index, { name, bytes, marker }] of SAMPLES.entries()) {
    it(`${name}: Trusted with the signer's root, Valid without, Invalid after a change, null if unsigned`, async () => {
      const file = signed[index]!;
      const trusted = await rig.report(file, trusting);
      assert.deepEqual([trusted.validation_state, failures(trusted)], ['Trusted', []]);
      const active = trusted.manifests[trusted.active_manifest!]!;
      assert.equal(active.title, 'a sample');
      assert.equal(active.signature_info?.issuer, 'Probeyard tests');

      const valid = await rig.report(file);
      assert.deepEqual([valid.validation_state, failures(valid)], ['Valid', ['signingCredential.untrusted']]);

      const changed = Buffer.from(file);
      // A byte of the media itself, near the end of each sample or just behind its header.
      const at =
        name === 'PDF'
          ? file.indexOf('MediaBox')
          : name === 'SVG'
            ? file.indexOf('teal')
            : name === 'DNG'
              ? 8
              : changed.length - (name === 'PNG' ? 20 : name === 'JPEG' ? 4 : 1);
      changed[at]! ^= 0x01;
      const { code, stdout } = await rig.check(changed, trusting);
      if (code === 0) assert.equal(JSON.parse(stdout).validation_state, 'Invalid');

      const unsigned = marker
        ? Buffer.from(
            bytes.toString('latin1').replace('/AF[4 0 R]', ' '.repeat(10)).replace('@@LENGTH@@', '0000000012'),
            'latin1',
          )
        : bytes;
      assert.deepEqual(await rig.report(unsigned, trusting), NOTHING);
    });
  }

  it('trusts only the configured roots', async () => {
    const other = await newAuthority('Other');
    const jpeg = signed[0]!;
    for (const [config, state] of [
      [rig.trusting(other), 'Valid'],
      [rig.config({ 'user_anchors.pem': authority.pem }), 'Trusted'],
      [
        rig.config({
          'allowed_list.pem': signer.chain.slice(0, signer.chain.indexOf('-----END CERTIFICATE-----') + 26),
        }),
        'Trusted',
      ],
      [rig.config({}), 'Valid'],
      [rig.config({ 'trust_anchors.pem': '\n' }), 'Valid'],
      ['/nowhere', 'Valid'],
    ] as const)
      assert.equal((await rig.report(jpeg, config)).validation_state, state, config);
  });

  it('rejects a certificate that may not sign', async () => {
    const jpeg = sampleOf('JPEG');
    for (const [what, leaf] of [
      ['has expired', { from: -30, to: -1 }],
      ['begins tomorrow', { from: 1 }],
      ['is for servers', { usage: SERVER_AUTH }],
      ["is an authority's", { isAuthority: true }],
    ] as const) {
      let file: Buffer;
      try {
        [file] = rig.sign([{ ...jpeg, signer: await newSigner(authority, leaf) }]) as [Buffer];
      } catch (error) {
        // Then the library itself refuses to sign with this certificate.
        assert.match(String((error as { stderr?: Buffer }).stderr), /certificate|credential/i, what);
        continue;
      }
      const report = await rig.report(file, trusting);
      assert.notEqual(report.validation_state, 'Trusted', what);
    }
  });

  it('follows a chain of edits, and detects a change in its first link', async () => {
    const jpeg = sampleOf('JPEG');
    const [edited] = rig.sign([
      { ...jpeg, bytes: signed[0]!, ingredient: signed[0]!, signer, definition: { title: 'edited' } },
    ]) as [Buffer];
    const report = await rig.report(edited, trusting);
    assert.deepEqual([report.validation_state, Object.keys(report.manifests).length], ['Trusted', 2]);
    assert.equal(report.manifests[report.active_manifest!]?.title, 'edited');
  });

  it('reports a manifest stored elsewhere, and does not fetch it', async () => {
    const [file] = rig.sign([{ ...sampleOf('JPEG'), signer, remote: 'http://127.0.0.1:9/manifest.c2pa' }]) as [Buffer];
    assert.deepEqual(await rig.report(file, trusting), {
      ...NOTHING,
      remote_manifest: 'http://127.0.0.1:9/manifest.c2pa',
    });
  });

  it('refuses invalid settings with a clear error', async () => {
    for (const [files, message] of [
      [{ 'settings.json': '{' }, /^settings\.json of the C2PA check: /],
      [{ 'settings.json': '[]' }, /^settings\.json of the C2PA check: /],
      [{ 'settings.json': '{"verify": 1}' }, /^settings\.json of the C2PA check: verify must be an object/],
      [{ 'settings.json': '{"verify": {"verify_trust": "yes"}}' }, /^settings of the C2PA check: /],
    ] as const) {
      const { code, stderr, stdout } = await rig.check(signed[0]!, rig.config(files));
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, message);
    }
  });

  it('prints its version and its usage', async () => {
    const told = await rig.check('--version');
    assert.match(told.stdout, /^c2pa \d+\.\d+\.\d+\n$/);
    assert.match((await rig.check('--help')).stdout, /^usage: c2pa/);
    assert.equal((await rig.check('--nonsense')).code, 2);
  });
});
