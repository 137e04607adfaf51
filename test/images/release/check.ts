/**
 * `make release-check RELEASE=dist/probeyard-VERSION`: copies a release to a registry of its own on 127.0.0.1 with the
 * release's own script, reads the chart from there with helm, and looks that every image which the chart names is
 * there. Needs skopeo.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../../../images/command.ts';
import { buildParts } from '../../node/build.ts';
import { freePort } from '../../free_port.ts';
import { daemon } from '../../server_process.ts';

const { values } = parseArgs({ options: { release: { type: 'string' } } });
assert.ok(values.release !== undefined, 'give RELEASE=FOLDER');
const release = resolve(values.release);
const parts = await buildParts(['registry', 'helm']);
const helm = join(parts.get('helm') ?? '', 'helm');
const folder = mkdtempSync(join(tmpdir(), 'probeyard-registry-'));
const port = await freePort();
const host = `127.0.0.1:${port}`;
const config = {
  version: 0.1,
  storage: { filesystem: { rootdirectory: join(folder, 'data') } },
  http: { addr: host },
  log: { level: 'error', accesslog: { disabled: true } },
};
writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
const registry = daemon(
  join(parts.get('registry') ?? '', 'registry'),
  ['serve', join(folder, 'config.json')],
  {},
  async () => assert.equal((await fetch(`http://${host}/v2/`)).status, 200),
);
await registry.start();
try {
  await run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: release });
  console.log('the checksums hold');
  await run(join(release, 'mirror.sh'), [host], { env: { SKOPEO_OPTIONS: '--dest-tls-verify=false' } });
  console.log('the registry has it');
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
    version: string;
  };
  const chart = ['oci://' + host + '/probeyard/charts/probeyard', '--version', version, '--plain-http'];
  const text = await run(helm, ['template', 'probeyard', ...chart, '--set', `global.imageRegistry=${host}`]);
  const named = [...new Set(text.match(new RegExp(`${host}/[\\w./-]+@sha256:[0-9a-f]{64}`, 'g')))];
  assert.ok(named.length > 3, 'the chart names images by digest');
  assert.doesNotMatch(text, new RegExp(`image: "?(?!${host})\\S+[:@]`), 'every image is of this registry');
  for (const image of named) {
    const [repository, digest] = image.slice(host.length + 1).split('@');
    const answer = await fetch(`http://${host}/v2/${repository}/manifests/${digest}`, {
      headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
    });
    assert.equal(answer.status, 200, image);
    await answer.body?.cancel();
  }
  console.log(`the chart names ${named.length} images by digest, and the registry has each`);
} finally {
  await registry.end('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}
