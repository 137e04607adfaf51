import assert from 'node:assert/strict';
import { loadConfig } from '../../src/base/config.ts';
import { makeGuard } from '../../src/source/address/guard.ts';
import { EVERYTHING, SAMPLES } from './everything.ts';
import { container, environmentOf, only, podsOf, render } from './render.ts';

const HOST = 'probeyard-samples.probeyard.svc';

describe('chart: samples', function () {
  this.timeout(60_000);

  it('are left out by default, with every object and setting of theirs', () => {
    assert.doesNotMatch(JSON.stringify(render()), /samples/);
  });

  it('by values of a chart that had none: are left out', () => {
    assert.doesNotMatch(JSON.stringify(render({ samples: null })), /samples/);
  });

  it('their service leads to their pod', () => {
    const objects = render(SAMPLES);
    const pod = podsOf(objects).find(({ owner }) => owner === 'Deployment/probeyard-samples')!;
    const { selector, ports } = only(objects, 'Service', 'probeyard-samples')['spec'] as {
      selector: Record<string, string>;
      ports: { port: number; targetPort: string }[];
    };
    for (const [name, value] of Object.entries(selector)) assert.equal(pod.labels[name], value);
    assert.deepEqual(
      ports.map(({ port, targetPort }) => [port, targetPort]),
      [[80, 'http']],
    );
  });

  for (const role of ['api', 'controller'] as const)
    it(`${role}: their one address is allowed beside the given ones, and nothing else at it`, () => {
      const config = loadConfig(role, environmentOf(container(render({ ...EVERYTHING, ...SAMPLES }), role)));
      assert.deepEqual(config.allowSources, [...EVERYTHING.sources.allow, { host: HOST, port: 80 }]);
      const guard = makeGuard({ allow: config.allowSources });
      assert.deepEqual(
        [
          guard.check('10.96.4.7', 80, HOST),
          guard.check('10.96.4.7', 8080, HOST),
          guard.check('10.96.4.7', 80, 'probeyard-api.probeyard.svc'),
          guard.check('169.254.169.254', 80, HOST),
        ],
        ['ok', 'refused', 'refused', 'refused'],
      );
    });

  it('are reached without the egress proxy', () => {
    const config = loadConfig(
      'controller',
      environmentOf(container(render({ ...EVERYTHING, ...SAMPLES }), 'controller')),
    );
    assert.deepEqual(config.noProxy, [...EVERYTHING.sources.noProxy, HOST]);
  });

  it('runners and the API may reach their pod, and nothing else may', () => {
    const objects = render(SAMPLES);
    const labels = { 'app.kubernetes.io/component': 'samples', 'app.kubernetes.io/instance': 'probeyard' };
    const egress = only(objects, 'NetworkPolicy', 'probeyard-runner')['spec'].egress as {
      ports?: object[];
      to?: { podSelector?: { matchLabels: Record<string, string> } }[];
    }[];
    const rules = egress.filter(({ to }) =>
      to?.some(({ podSelector }) =>
        Object.entries(labels).every(([name, value]) => podSelector?.matchLabels[name] === value),
      ),
    );
    assert.deepEqual(
      rules.map(({ ports }) => ports),
      [[{ protocol: 'TCP', port: 8080 }]],
    );
    const { spec } = only(objects, 'NetworkPolicy', 'probeyard-samples');
    assert.deepEqual(
      [spec.policyTypes, spec.egress, spec.ingress],
      [
        ['Ingress', 'Egress'],
        undefined,
        [
          {
            ports: [{ protocol: 'TCP', port: 8080 }],
            from: [
              {
                namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'probeyard-runners' } },
                podSelector: { matchLabels: { 'app.kubernetes.io/component': 'runner' } },
              },
              {
                podSelector: {
                  matchLabels: {
                    'app.kubernetes.io/component': 'api',
                    'app.kubernetes.io/instance': 'probeyard',
                    'app.kubernetes.io/name': 'probeyard',
                  },
                },
              },
            ],
          },
        ],
      ],
    );
  });
});
