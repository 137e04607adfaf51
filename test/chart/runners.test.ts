/** Objects in the runners' namespace: the budget of long jobs, and the pods that keep images. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOLD_AFTER_MS } from '../../src/service/controller/pools/evictions.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { containersOf, only, podsOf, render } from './render.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string;
};

const named = (values: object, kind: string) => render(values).filter((object) => object.kind === kind);

describe('chart: runners', function () {
  this.timeout(60_000);

  it('one budget selects the runners that the controller labels, and none else', () => {
    const [budget] = named({}, 'PodDisruptionBudget').filter(({ metadata }) => metadata.name.endsWith('-long-jobs'));
    assert.equal(budget?.metadata.namespace, 'probeyard-runners');
    assert.deepEqual(budget['spec'].selector.matchLabels, { [LABEL.managedBy]: 'probeyard', [LABEL.longJob]: 'true' });
    // A pod that two budgets select cannot be evicted at all.
    assert.equal(named({}, 'PodDisruptionBudget').filter(({ metadata }) => metadata.namespace).length, 1);
    assert.ok(budget['spec'].minAvailable > 5_000, 'more than the pods of a pool');
    assert.equal(HOLD_AFTER_MS, 10_000, 'as the comment of runners.pdb.enabled says');
  });

  it('the budget can be left out', () => {
    const budgets = named({ runners: { pdb: { enabled: false } } }, 'PodDisruptionBudget');
    assert.deepEqual(
      budgets.filter(({ metadata }) => metadata.name.endsWith('-long-jobs')),
      [],
    );
  });

  describe('prePull', () => {
    const prePull = { enabled: true, nodeSelector: { media: 'yes' }, tolerations: [{ key: 'b', operator: 'Exists' }] };
    const runners = { prePull, nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'a', operator: 'Exists' }] };
    const podOf = (values: object) => {
      const pod = podsOf(render(values)).find(({ owner }) => owner === 'DaemonSet/probeyard-pre-pull');
      assert.ok(pod);
      return pod;
    };

    it('is off by default', () => assert.deepEqual(named({}, 'DaemonSet'), []));

    it('mounts the image of every tool of the catalog, and runs the image of runners', () => {
      const values = { runners, global: { imageRegistry: 'registry.example' } };
      const pod = podOf(values);
      const catalog = only(render(values), 'ConfigMap', 'probeyard-catalog')['data']['catalog.yaml'] as string;
      const wanted = [...catalog.matchAll(/^\s*(?:- )?image: (\S+)$/gm)].map(([, image]) => image!);
      const volumes = pod.spec['volumes'] as { name: string; image?: { reference: string } }[];
      const images = volumes.flatMap(({ image }) => image?.reference ?? []);
      assert.ok(wanted.length > 10, `${wanted.length} images`);
      assert.deepEqual(images.toSorted(), wanted.toSorted());
      assert.equal(new Set(volumes.map(({ name }) => name)).size, volumes.length);
      for (const { name } of volumes) assert.match(name, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
      assert.deepEqual(
        containersOf(pod).map(({ image }) => image),
        [`registry.example/probeyard/probeyard:${version}`],
      );
    });

    it('runs where runners do, under the same rules', () => {
      const { spec } = podOf({
        runners,
        pullSecret: { dockerConfigJson: '{"auths":{"registry.example":{"auth":"bWU6c2VjcmV0"}}}' },
      });
      assert.deepEqual(spec['nodeSelector'], {
        media: 'yes',
        disk: 'ssd',
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
      });
      assert.deepEqual(spec['tolerations'], [...runners.tolerations, ...prePull.tolerations]);
      assert.deepEqual(spec['imagePullSecrets'], [{ name: 'probeyard-pull' }]);
      assert.equal(spec['automountServiceAccountToken'], false);
      const { runAsNonRoot, seccompProfile } = spec['securityContext'] as Record<string, unknown>;
      assert.deepEqual([runAsNonRoot, seccompProfile], [true, { type: 'RuntimeDefault' }]);
      for (const container of containersOf(podOf({ runners })))
        assert.deepEqual(
          [container.securityContext?.readOnlyRootFilesystem, container.securityContext?.capabilities],
          [true, { drop: ['ALL'] }],
        );
    });

    it('runs the one image with all tools where that is how they are delivered', () => {
      const pod = podOf({ runners, tools: { delivery: 'bundled' } });
      assert.deepEqual(
        containersOf(pod).map(({ image }) => image.split(':')[0]),
        ['probeyard/probeyard', 'probeyard/bundled'],
      );
      assert.ok((pod.spec['volumes'] as { image?: unknown }[]).every(({ image }) => image === undefined));
    });
  });
});
