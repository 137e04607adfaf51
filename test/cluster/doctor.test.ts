/** The preflight on the cluster: as it is, and where something is made to be missing. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execute, type Printed } from '../cli/rig.ts';
import { standInsOfCheckout } from '../cli/stand_in.ts';
import type { Finding } from '../../src/service/doctor/finding.ts';
import { NAMESPACE, cluster, eventually, type Cluster } from './fixture.ts';
import { unlessLong } from '../long.ts';

const root = join(import.meta.dirname, '../..');
const RUNNERS = 'probeyard-runners';
const HANDLER = 'probeyard-no-such-handler';

const REASON = 'three runs of doctor stand for the others in the tests of every change';

describe('doctor on the cluster', function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-doctor-'));
  const kubectlPlugin = join(standInsOfCheckout(folder), 'kubectl-probeyard');
  let c: Cluster;
  before(async () => {
    c = await cluster();
    symlinkSync(join(root, '.local/bin/kubectl'), join(folder, 'kubectl'));
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await c.close();
  });

  const doctor = (...args: string[]): Promise<Printed> =>
    execute([kubectlPlugin, 'doctor', `--kubeconfig=${c.kubeconfig}`, ...args], {
      env: { PATH: `${folder}:${process.env['PATH']}`, HOME: folder },
      timeoutMs: 200_000,
    });
  async function findings(...args: string[]): Promise<ReadonlyMap<string, Finding>> {
    const { stdout, stderr } = await doctor(...args, '-o', 'json');
    const said = (JSON.parse(stdout.toString() || assert.fail(stderr)) as { findings: Finding[] }).findings;
    return new Map(said.map((one) => [one.id, one]));
  }
  const left = async (): Promise<string> =>
    (await c.kubectl('get', 'jobs,pods', '--all-namespaces', '--selector=probeyard.dev/doctor', '-o', 'name')).trim();
  const image = (): Promise<string> =>
    c.kubectl('-n', NAMESPACE, 'get', 'deployment', 'probeyard-api', '-o', 'jsonpath={..containers[0].image}');

  it('an installation: every check says something, and nothing is left', async () => {
    const found = await findings('--skip=storage');
    for (const id of [
      'kubernetes',
      'nodes',
      'dns-pods',
      'api-latency',
      'dns',
      'kernel',
      'syscall-filter',
      'image-volume',
    ])
      assert.equal(found.get(id)?.status, 'pass', JSON.stringify(found.get(id)));
    // The local node enforces policies where that was asked for; whether it has user namespaces depends on the machine.
    assert.match(found.get('network-policy')!.found, /^(not )?enforced: a runner/);
    assert.ok(['pass', 'warn'].includes(found.get('user-namespace')!.status));
    await eventually('its jobs and their pods are deleted', 60, async () => (await left()) === '');
  });

  it('a storage class that does not exist: the check of storage fails', async function () {
    unlessLong(this, REASON);
    const found = await findings(
      '--storage-class=probeyard-no-such-class',
      '--skip=runner',
      '--skip=image-volume',
      '--skip=user-namespace',
      '--timeout=20',
    );
    assert.equal(found.get('storage')?.status, 'fail', JSON.stringify(found.get('storage')));
    assert.match(found.get('storage')!.found, /^no volume: /);
    assert.equal(found.get('api-latency')?.status, 'pass');
  });

  it('a RuntimeClass without a runtime: unknown, and no other values are proposed', async function () {
    unlessLong(this, REASON);
    const runtimeClass = {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: HANDLER },
      handler: HANDLER,
    };
    await c.kube.request({ method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses', body: runtimeClass });
    try {
      const found = await findings(`--runtime-class=${HANDLER}`, '--skip=storage', '--skip=service', '--timeout=30');
      assert.match(found.get('kernel')!.found, /no runtime for .*is configured/);
      for (const id of ['kernel', 'image-volume', 'user-namespace']) {
        assert.equal(found.get(id)?.status, 'unknown', id);
        assert.equal(found.get(id)?.set, undefined, id);
      }
    } finally {
      await c.kubectl('delete', 'runtimeclass', HANDLER);
    }
  });

  it('an image that does not exist: nothing is known of what its pods check', async () => {
    const found = await findings('--image=localhost/no/such:1', '--skip=storage', '--timeout=20');
    for (const id of ['kernel', 'network-policy', 'image-volume', 'user-namespace', 'clock'])
      assert.equal(found.get(id)?.status, 'unknown', id);
    assert.equal(found.get('kubernetes')?.status, 'pass');
  });

  it('--install-check: in a namespace of its own, which goes away', async function () {
    unlessLong(this, REASON);
    const done = await doctor('--install-check', `--image=${await image()}`, '--skip=storage');
    assert.equal(done.code, 0, `${done.stdout.toString()}${done.stderr}`);
    const text = done.stdout.toString();
    assert.match(text, /^pass +image volumes +a program in one runs$/m);
    assert.match(text, /^Values to set:\n\n(?:.*\n)*tools:\n {2}delivery: imageVolume$/m);
    await eventually('the namespace is deleted', 120, async () => {
      const names = await c.kubectl('get', 'namespaces', '-o', 'name');
      return !names.includes('namespace/probeyard-doctor-') && names.includes(`namespace/${RUNNERS}`);
    });
  });

  it('Ctrl-C on a terminal, where jobs are being created: deletes all of them', async () => {
    const command = `${kubectlPlugin} doctor --kubeconfig=${c.kubeconfig}`;
    const child = spawn(
      'script',
      ['--quiet', '--return', '--command', `${command} --image=localhost/no/such:1 --skip=storage`, '/dev/null'],
      { env: { PATH: `${folder}:${process.env['PATH']}`, HOME: folder, TERM: 'xterm' } },
    );
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
    });
    const closed = once(child, 'close');
    await eventually('a job is there', 60, async () => (await left()) !== '');
    child.stdin.write('\u0003');
    assert.deepEqual(await closed, [130, null], shown);
    await eventually('its jobs and their pods are deleted', 60, async () => (await left()) === '');
  });
});
