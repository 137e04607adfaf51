import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, join } from 'node:path';
import { buildParts, type Built } from '../../node/build.ts';
import { attempt, run } from '../../node/command.ts';
import { localCluster } from '../connect.ts';
import { program } from '../../node/control_plane.ts';
import { until } from '../../node/deadline.ts';
import { get } from '../../node/health.ts';
import { kubeconfigOf } from '../../node/kubeconfig.ts';
import { NODE, NODE_NAME } from '../../node/layout.ts';
import { ownImage } from '../../node/node.ts';
import { NODE_PARTS } from '../../node/parts.ts';
import { readSettings } from '../../node/settings.ts';
import { readListeners } from '../../node/sockets.ts';

describe('local node', function () {
  this.timeout(120_000);
  const namespace = `node-test-${randomUUID().slice(0, 8)}`;
  let built: Built;
  let podcheck: string;
  let kubectl: (...args: string[]) => Promise<string>;

  before(async () => {
    const { kubeconfig } = await localCluster();
    built = await buildParts(NODE_PARTS);
    podcheck = ownImage('podcheck', built);
    kubectl = (...args) => run(program({ built }, 'kubernetes', 'kubectl'), ['--kubeconfig', kubeconfig, ...args]);
    await kubectl('create', 'namespace', namespace);
    await kubectl('label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted');
  });

  after(() => kubectl('delete', 'namespace', namespace, '--wait=false'));

  const apply = (object: object) =>
    run(
      program({ built }, 'kubernetes', 'kubectl'),
      ['--kubeconfig', kubeconfigOf(NODE, 'admin'), '-n', namespace, 'apply', '-f', '-'],
      { input: JSON.stringify(object) },
    );

  /** A waiting pod under Pod Security "restricted", with `more` in its spec. */
  async function startPod(name: string, more: object = {}, container: object = {}): Promise<void> {
    await apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: name } },
      spec: {
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: 'main',
            image: podcheck,
            imagePullPolicy: 'Never',
            args: ['wait', name],
            resources: { requests: { cpu: '10m' } },
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
            ...container,
          },
        ],
        ...more,
      },
    });
    await kubectl('-n', namespace, 'wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s');
  }

  const exec = (pod: string, ...command: string[]) => kubectl('-n', namespace, 'exec', pod, '--', ...command);

  it('is Ready', async () => {
    assert.equal(
      await kubectl('get', 'node', NODE_NAME, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'),
      'True',
    );
  });

  it('runs a hardened pod, returns its log and executes a command in it', async () => {
    await startPod('plain');
    await until(
      { what: 'the log', timeoutMs: 10_000 },
      async () => (await kubectl('-n', namespace, 'logs', 'plain')) === 'waiting plain\n',
    );
    assert.equal(await exec('plain', '/bin/podcheck', 'say', 'hello', 'there'), 'hello there\n');
  });

  it('resolves a service by name, and reaches another pod', async () => {
    await startPod('caller');
    const { serviceAddress } = (await readSettings(NODE))!;
    assert.equal(await exec('caller', '/bin/podcheck', 'lookup', 'kubernetes.default'), `${serviceAddress}\n`);
    const pod = await kubectl(
      '-n',
      'kube-system',
      'get',
      'pods',
      '-l',
      'k8s-app=kube-dns',
      '-o',
      'jsonpath={.items[0].status.podIP}',
    );
    assert.match(await exec('caller', '/bin/podcheck', 'get', `http://${pod}:8181/ready`), /^200 OK/);
  });

  it('refuses a pod that violates the Pod Security level of its namespace', async () => {
    await assert.rejects(
      startPod('privileged', {}, { securityContext: { privileged: true } }),
      /violates PodSecurity "restricted/,
    );
  });

  it('refuses unauthenticated callers', async () => {
    const { hostIp } = await localCluster();
    const ca = await readFile(join(NODE.pkiDir, 'ca.crt'));
    const answer = await get(`https://${hostIp}:${NODE.ports.api}/api/v1/namespaces`, { ca });
    assert.equal(answer.status, 403);
    assert.match(answer.body, /system:anonymous/);
  });

  it('limits the kubelet to its own node', async () => {
    const asKubelet = (...args: string[]) =>
      attempt(program({ built }, 'kubernetes', 'kubectl'), ['--kubeconfig', kubeconfigOf(NODE, 'kubelet'), ...args]);
    const own = await asKubelet('get', 'node', NODE_NAME, '-o', 'name');
    assert.equal(own.stdout, `node/${NODE_NAME}\n`);
    const label = await asKubelet('label', 'node', NODE_NAME, 'node-restriction.kubernetes.io/x=y');
    assert.match(label.stderr, /is not allowed to modify labels/);
    const secrets = await asKubelet('-n', 'kube-system', 'get', 'secrets');
    assert.match(secrets.stderr, /forbidden/);
  });

  it('mounts an image as a read-only volume, and executes from it, in a user namespace', async () => {
    await startPod(
      'mounted',
      { hostUsers: false, volumes: [{ name: 'tool', image: { reference: podcheck, pullPolicy: 'Never' } }] },
      { volumeMounts: [{ name: 'tool', mountPath: '/tools/podcheck/1', readOnly: true }] },
    );
    assert.equal(await exec('mounted', '/tools/podcheck/1/bin/podcheck', 'say', 'mounted'), 'mounted\n');
    const [inside, outside] = (await exec('mounted', '/tools/podcheck/1/bin/podcheck', 'uidmap'))
      .trim()
      .split(/\s+/)
      .map(Number);
    assert.equal(inside, 0);
    assert.ok(outside! >= 65536, `root in the pod is ${outside} on the node`);
  });

  it('pulls an image by digest', async () => {
    const digest = await kubectl(
      '-n',
      namespace,
      'get',
      'pod',
      'plain',
      '-o',
      'jsonpath={.status.containerStatuses[0].imageID}',
    );
    assert.match(digest, /sha256:/);
    await startPod('pinned', {}, { image: `${podcheck.split(':')[0]}@${digest.slice(digest.indexOf('sha256:'))}` });
  });

  it('gives a claim a volume that an unprivileged user can write', async () => {
    await apply({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    await startPod(
      'claims',
      { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
      { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    );
    assert.equal(await kubectl('-n', namespace, 'get', 'pvc', 'data', '-o', 'jsonpath={.status.phase}'), 'Bound');
  });

  it('lets pods reach the host at its address on the pod bridge', async () => {
    const { hostIp } = await localCluster();
    const server = createServer((_, response) => response.end('from the host'));
    await new Promise<void>((resolve) => server.listen(0, hostIp, resolve));
    try {
      const { port } = server.address() as { port: number };
      assert.match(await exec('plain', '/bin/podcheck', 'get', `http://${hostIp}:${port}/`), /from the host/);
    } finally {
      server.close();
    }
  });

  it('listens on the pod bridge and on loopback only', async () => {
    const { hostIp } = await localCluster();
    const ports = Object.values(NODE.ports);
    const open = (await readListeners()).filter(
      ({ port, address }) => ports.includes(port) && address !== hostIp && address !== '127.0.0.1',
    );
    assert.deepEqual(open, []);
  });

  it('records what it was built from', () => {
    for (const [part, folder] of built) {
      assert.ok(existsSync(folder));
      assert.match(basename(folder), new RegExp(`^${part}-[0-9a-f]{16}$`));
    }
  });
});
