/**
 * `make release-check RELEASE=dist/probeyard-VERSION`: copies a release to a registry of its own on 127.0.0.1 with the
 * release's own script, reads the chart from there with helm, and looks that every image which the chart names is
 * there.
 */
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../../../images/command.ts';
import { buildParts } from '../../node/build.ts';
import { skopeoFolder, startReleaseRegistry } from './registry.ts';

const { values } = parseArgs({ options: { release: { type: 'string' } } });
assert.ok(values.release !== undefined, 'give RELEASE=FOLDER');
const helm = join((await buildParts(['helm'])).get('helm') ?? '', 'helm');
const { host, version, stop } = await startReleaseRegistry(resolve(values.release), await skopeoFolder());
try {
  const chart = ['oci://' + host + '/probeyard/charts/probeyard', '--version', version, '--plain-http'];
  const text = await run(helm, ['template', 'probeyard', ...chart, '--set', `global.imageRegistry=${host}`]);
  const named = [...new Set(text.match(new RegExp(`${host}/[\\w./-]+@sha256:[0-9a-f]{64}`, 'g')))];
  assert.ok(named.length > 3, 'the chart names images by digest');
  assert.doesNotMatch(text, new RegExp(`image: "?(?!${host})\\S+[:@]`), 'every image is of this registry');
  for (const image of named) {
    const [repository, digest] = image.slice(host.length + 1).split('@');
    const answer = await fetch(`http://${host}/v2/${repository}/manifests/${digest}`, {
      headers: { accept: 'application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json' },
    });
    assert.equal(answer.status, 200, image);
    await answer.body?.cancel();
  }
  console.log(`the chart names ${named.length} images by digest, and the registry has each`);
} finally {
  await stop();
}
