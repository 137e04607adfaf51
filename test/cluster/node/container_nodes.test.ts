/**
 * `make up CLUSTER=kind`: images go into nodes that are containers. The containerd is the local node's, under a
 * namespace of its own; a script stands for docker, which hands the command of `docker exec` to it.
 */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildParts } from '../../node/build.ts';
import { run } from '../../node/command.ts';
import { isContainerCluster, nodesOf, runtimeOf } from '../../node/container_nodes.ts';
import { importInto, listedImages, pinned } from '../../node/images.ts';
import { NODE } from '../../node/layout.ts';
import { writeScratchImage } from '../../node/oci_archive.ts';
import { containerdSocket } from '../../node/runtime.ts';

const NAMESPACE = 'probeyard-loading-test';
const NAME = 'localhost/probeyard-test/loaded:1';

describe('images in nodes that are containers', function () {
  this.timeout(120_000);
  let folder: string;
  let program: string;
  const path = process.env['PATH'];
  const ctr = (...args: string[]) => run(program, ['-a', containerdSocket(NODE), '-n', NAMESPACE, ...args]);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-docker-'));
    program = join((await buildParts(['containerd'])).get('containerd')!, 'ctr');
    const script = `#!/bin/sh
if [ "$1" = ps ]; then printf '%s\\n' test-worker test-control-plane k3d-test-serverlb; exit; fi
shift
[ "$1" = -i ] && shift
[ "$1 $2 $3 $4" = "test-worker ctr -n k8s.io" ] || exit 3
shift 4
exec ${program} -a ${containerdSocket(NODE)} -n ${NAMESPACE} "$@"
`;
    writeFileSync(join(folder, 'docker'), script);
    chmodSync(join(folder, 'docker'), 0o755);
    writeFileSync(join(folder, 'content'), 'content');
    process.env['PATH'] = `${folder}:${path}`;
  });
  after(async () => {
    process.env['PATH'] = path;
    const names = [...listedImages(await ctr('images', 'ls')).keys()];
    if (names.length > 0) await ctr('images', 'rm', '--sync', ...names);
    await ctr('namespaces', 'rm', NAMESPACE);
    rmSync(folder, { recursive: true, force: true });
  });

  it('the nodes are found, without the load balancer', async () =>
    assert.deepEqual(await nodesOf('kind'), ['test-control-plane', 'test-worker']));

  it('kinds of clusters are known by name', () => {
    for (const [name, known] of [
      ['kind', true],
      ['k3d', true],
      ['minikube', true],
      ['toString', false],
    ] as const)
      assert.equal(isContainerCluster(name), known, name);
  });

  it('an image is imported under its name and its digest, and once', async () => {
    const archive = join(folder, 'image.tar');
    await writeScratchImage({ name: NAME, files: { content: join(folder, 'content') }, entrypoint: ['/x'] }, archive);
    assert.deepEqual(await importInto(runtimeOf('test-worker'), [{ name: NAME, archive }]), [NAME]);
    const there = listedImages(await ctr('images', 'ls'));
    const digest = there.get(NAME);
    assert.ok(digest);
    assert.equal(there.get(pinned(NAME, digest)), digest);
    assert.deepEqual(await importInto(runtimeOf('test-worker'), [{ name: NAME, archive, digest }]), []);
  });
});
