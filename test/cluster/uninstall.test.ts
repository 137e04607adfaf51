/** helm uninstall leaves nothing running. Tried with a second release beside that of the other tests. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NAMESPACES, PODS, isKubeError } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { run } from '../node/command.ts';
import { unlessLong } from '../long.ts';
import { localDir } from '../node/layout.ts';
import { NAMESPACE, cluster, eventually, type Cluster } from './fixture.ts';
import { chart } from './helm.ts';

const RELEASE = 'uninstalled';

describe('helm uninstall', function () {
  this.timeout(300_000);
  let c: Cluster;
  let folder: string;
  let values: string;
  const helm = (...args: string[]): Promise<string> =>
    run(join(localDir, 'bin', 'helm'), [...args, '--kubeconfig', c.kubeconfig], { timeoutMs: 200_000 });
  const remove = (namespace: string): Promise<void> =>
    c.kube.delete(NAMESPACES, namespace).catch((error: unknown) => {
      if (!isKubeError(error, 'not-found')) throw error;
    });

  before(async function () {
    unlessLong(this, 'it installs a release twice, which takes two minutes');
    c = await cluster();
    folder = await mkdtemp(join(tmpdir(), 'probeyard-uninstall-'));
    values = join(folder, 'values.json');
    await writeFile(values, await helm('get', 'values', NAMESPACE, '--namespace', NAMESPACE, '--output', 'json'));
  });
  after(async () => {
    if (folder) await rm(folder, { recursive: true, force: true });
    await c?.close();
  });

  for (const createNamespace of [true, false]) {
    it(`runners.createNamespace=${createNamespace}: no pod of the release or its pools is left`, async () => {
      const [own, runners] = [`uninstall-${createNamespace}`, `uninstall-${createNamespace}-runners`];
      const pods = async () =>
        (await Promise.all([own, runners].map((namespace) => c.kube.listAll(PODS, { namespace })))).flatMap(
          ({ items }) => items,
        );
      try {
        if (!createNamespace) await c.kube.create(NAMESPACES, { metadata: { name: runners } });
        const settings = [
          `runners.namespace=${runners},runners.createNamespace=${createNamespace}`,
          // The CRDs belong to the other release, and its node port is taken.
          'crds.enabled=false,api.service.type=ClusterIP,api.service.nodePort=null',
          'api.replicas=1,controller.replicas=1',
        ].join(',');
        const where = ['--namespace', own];
        const wait = ['--wait', '--timeout', '3m'];
        await helm('install', RELEASE, chart, ...where, '--create-namespace', ...wait, '-f', values, '--set', settings);
        await eventually('runners of both pools are up', 90, async () => {
          const up = (await pods()).filter(
            ({ metadata, status }) =>
              metadata.labels?.[LABEL.component] === 'runner' &&
              status?.containerStatuses?.every(({ ready }) => ready === true),
          );
          return new Set(up.map(({ metadata }) => metadata.labels?.[LABEL.pool])).size === 2;
        });
        await helm('uninstall', RELEASE, ...where, ...wait);
        const left = () =>
          pods().then((all) => all.map(({ metadata, status }) => `${metadata.name} ${status?.phase}`).join(', '));
        await eventually('no pod is left', 90, async () => (await left()) === '').catch(async (error: unknown) =>
          assert.fail(`${(error as Error).message}: ${await left()}`),
        );
      } finally {
        await helm('uninstall', RELEASE, '--namespace', own, '--ignore-not-found').catch(() => {});
        await Promise.all([own, runners].map(remove));
      }
    });
  }
});
