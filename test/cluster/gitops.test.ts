/**
 * The running release in the hands of a GitOps engine: the libraries of Argo CD and of Flux apply the rendered chart,
 * find no difference while it runs, and bring back what was changed by hand. Fields are applied in the name of Helm, so
 * the release is Helm's again with the next upgrade.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { PODS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { buildParts, isBuilt } from '../node/build.ts';
import { RELEASE } from '../node/chart.ts';
import { run } from '../node/command.ts';
import { localDir } from '../node/layout.ts';
import { cluster, eventually, NAMESPACE, type Cluster } from './fixture.ts';
import { chart } from './helm.ts';
import { steadyLoad } from './load.ts';

interface Line {
  object: string;
  by?: string;
  change?: unknown;
  health?: string;
}
type Engine = 'argo' | 'flux';

describe('the release under GitOps', function () {
  this.timeout(300_000);
  let c: Cluster;
  let source: string;
  let token: string;
  let program: string;
  let manifests: string;

  before(async function () {
    if (!(await isBuilt(['gitops']))) {
      console.log('      skipped: `make gitops` builds the libraries of Argo CD and Flux that it needs');
      return this.skip();
    }
    program = join((await buildParts(['gitops'])).get('gitops')!, 'gitops');
    c = await cluster();
    ({ token } = await c.newToken());
    source = `${(await c.origin()).url}/tiny.mp4`;
    const helm = (args: string[], input = ''): Promise<string> =>
      run(join(localDir, 'bin', 'helm'), [...args, '--namespace', RELEASE, '--kubeconfig', c.kubeconfig], { input });
    const values = await helm(['get', 'values', RELEASE, '--output', 'json']);
    manifests = await helm(['template', RELEASE, chart, '--values', '-', '--dry-run=server', '--skip-tests'], values);
  });
  after(() => c?.close());

  async function gitops(engine: Engine, what: 'sync' | 'diff'): Promise<Line[]> {
    const text = await run(program, [engine, what, NAMESPACE], { env: { KUBECONFIG: c.kubeconfig }, input: manifests });
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  }

  /** Pods that a sync must not replace. */
  async function pods(): Promise<string[]> {
    const { items } = await c.kube.listAll(PODS, {
      namespace: NAMESPACE,
      labelSelector: `${LABEL.component} in (api,controller,nats,postgres)`,
    });
    // One that was scaled away before may still be ending.
    const staying = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return staying.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort();
  }

  /** Health is that of a moment: a pod may be about to start. */
  const inSync = (engine: Engine): Promise<true> =>
    eventually(`${engine} finds no difference`, 60, async () => {
      const found = await gitops(engine, 'diff');
      assert.deepEqual(found, []);
      return true;
    });

  for (const engine of ['argo', 'flux'] as const) {
    it(`${engine}: applied on the running release, it differs in nothing and no pod is replaced`, async () => {
      const before = await pods();
      const done = await gitops(engine, 'sync');
      assert.ok(done.length > 50, JSON.stringify(done));
      const wrong = done.filter(({ change }) => !/^(?:Synced|Succeeded|unchanged|configured)\b/.test(String(change)));
      assert.deepEqual(wrong, []);
      await inSync(engine);
      assert.deepEqual(await pods(), before);
    });

    it(`${engine}: what was removed or changed by hand comes back while requests go on`, async () => {
      const load = steadyLoad(2, () => c.probe({ url: source }, { token }));
      const inNamespace = (...args: string[]): Promise<string> => c.kubectl('-n', NAMESPACE, ...args);
      let wrong: string[] = [];
      try {
        // What the chart renders is the engine's to bring back.
        await inNamespace('delete', 'networkpolicy', 'probeyard-api');
        await inNamespace('scale', 'deployment/probeyard-api', '--replicas=3');
        await inNamespace('label', 'service/probeyard-api', 'app.kubernetes.io/part-of=another', '--overwrite');
        // What the controllers make of the chart's ConfigMaps is theirs, and nothing that the engine looks at.
        await inNamespace('delete', 'probepool', 'checks', '--wait=false');
        await inNamespace('delete', 'probetool', 'ffprobe-4.0', '--wait=false');
        await inNamespace('delete', 'probepolicy', 'web-mp4', '--wait=false');
        const found = new Set(
          (await gitops(engine, 'diff')).filter(({ change }) => change).map(({ object }) => object),
        );
        assert.deepEqual([...found].toSorted(), [
          '/Service/probeyard/probeyard-api',
          'apps/Deployment/probeyard/probeyard-api',
          'networking.k8s.io/NetworkPolicy/probeyard/probeyard-api',
        ]);
        await gitops(engine, 'sync');
        await inSync(engine);
        await eventually('pool, tool and policy are back', 60, async () => {
          await inNamespace('get', 'probepool/checks', 'probepolicy/web-mp4');
          return (await inNamespace('get', 'probetool', 'ffprobe-4.0', '--no-headers')).includes('True');
        });
      } finally {
        wrong = await load.stop();
      }
      assert.ok(load.answered > 0);
      assert.deepEqual(wrong, []);
    });
  }
});
