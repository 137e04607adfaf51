/**
 * `make release-install RELEASE=dist/probeyard-VERSION`: installs a release with helm from a registry, on the local
 * node, in a network namespace of its own that reaches nothing else. A first probe is made, and the node removed.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildParts } from '../../node/build.ts';
import { run } from '../../node/command.ts';
import { chartValues } from '../../node/chart.ts';
import { down } from '../../node/down.ts';
import { firstProbe } from '../../node/first_probe.ts';
import { kubeconfigOf } from '../../node/kubeconfig.ts';
import { localDir, NODE } from '../../node/layout.ts';
import { NODE_PARTS } from '../../node/parts.ts';
import { ensureSettings } from '../../node/settings.ts';
import { anythingOf } from '../../node/teardown.ts';
import { up } from '../../node/up.ts';
import { skopeoFolder, startReleaseRegistry } from './registry.ts';

const { values } = parseArgs({
  options: { release: { type: 'string' }, skopeo: { type: 'string' }, inside: { type: 'boolean' } },
});
assert.ok(values.release !== undefined, 'give RELEASE=FOLDER');
const release = resolve(values.release);

/** Only the loopback device, and no way out of it. */
async function assertAlone(): Promise<void> {
  const links = JSON.parse(await run('ip', ['-json', 'link'])) as { ifname: string }[];
  assert.deepEqual(
    links
      .map(({ ifname }) => ifname)
      .filter((name) => name !== 'lo' && !/^(tunl|sit|ip6tnl|gre|erspan|ip_vti)/.test(name)),
    [],
    'the namespace has no link to another',
  );
  assert.equal((await run('ip', ['route'])).trim(), '', 'the namespace has no route');
}

async function inside(): Promise<void> {
  await assertAlone();
  await run('ip', ['link', 'set', 'lo', 'up']);
  const registry = await startReleaseRegistry(release, values.skopeo);
  const file = join(localDir, 'release-values.json');
  try {
    await up({ nodeOnly: true });
    const settings = await ensureSettings(NODE);
    const kubeconfig = kubeconfigOf(NODE, 'admin');
    const given = chartValues({ images: [], hostIp: settings.hostIp, registry: registry.host }, []);
    writeFileSync(file, JSON.stringify(given));
    const started = performance.now();
    await run(join(localDir, 'bin', 'helm'), [
      'install',
      'probeyard',
      `oci://${registry.host}/probeyard/charts/probeyard`,
      '--version',
      registry.version,
      '--plain-http',
      '--namespace',
      'probeyard',
      '--create-namespace',
      '--kubeconfig',
      kubeconfig,
      '--values',
      file,
      '--wait',
      '--timeout',
      '9m',
    ]);
    console.log(`installed from ${registry.host} in ${Math.round((performance.now() - started) / 1000)} s`);
    await firstProbe(kubeconfig, settings);
    const images = await run(join(localDir, 'bin', 'kubectl'), [
      '--kubeconfig',
      kubeconfig,
      'get',
      'pods',
      '--all-namespaces',
      '--selector',
      'app.kubernetes.io/name=probeyard',
      '--output',
      'jsonpath={.items[*].spec.containers[*].image}',
    ]);
    const others = images.split(/\s+/).filter((image) => !image.startsWith(`${registry.host}/`));
    assert.deepEqual(others, [], 'every image is of this registry');
  } finally {
    rmSync(file, { force: true });
    await down();
    await registry.stop();
  }
}

if (values.inside) await inside();
else {
  assert.ok(!(await anythingOf(NODE)), 'the local node is up: make down first');
  // What the namespace could not fetch.
  const skopeo = await skopeoFolder();
  await buildParts([...NODE_PARTS, 'registry']);
  const child = spawn(
    'unshare',
    [
      '--net',
      process.execPath,
      import.meta.filename,
      '--inside',
      '--release',
      release,
      ...(skopeo === undefined ? [] : ['--skopeo', skopeo]),
    ],
    { stdio: 'inherit' },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}
