/** What the Prometheus operator is told of scrapes. */
import assert from 'node:assert/strict';
import { only, refusal, render } from './render.ts';

const SCRAPE = {
  interval: '15s',
  scrapeTimeout: '5s',
  honorLabels: true,
  relabelings: [{ sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' }],
  metricRelabelings: [{ sourceLabels: ['__name__'], regex: 'nodejs_.+', action: 'drop' }],
};

describe('chart: monitors', function () {
  this.timeout(120_000);
  for (const [kind, value, endpoints] of [
    ['PodMonitor', 'podMonitor', 'podMetricsEndpoints'],
    ['ServiceMonitor', 'serviceMonitor', 'endpoints'],
  ] as const) {
    const specOf = (settings: object) =>
      only(render({ metrics: { [value]: { enabled: true, ...settings } } }), kind, 'probeyard')['spec'];

    it(`${kind}: only the interval by default`, () => {
      const spec = specOf({});
      assert.deepEqual(spec[endpoints], [{ port: 'metrics', interval: '30s' }]);
      assert.equal(spec.sampleLimit, undefined);
    });

    it(`${kind}: takes every setting of a scrape`, () => {
      const spec = specOf({ ...SCRAPE, sampleLimit: 5_000 });
      assert.deepEqual(spec[endpoints], [{ port: 'metrics', ...SCRAPE }]);
      assert.equal(spec.sampleLimit, 5_000);
    });

    it(`${kind}: refuses times that Prometheus cannot read`, () => {
      assert.match(refusal({ metrics: { [value]: { enabled: true, scrapeTimeout: '5 s' } } }), /scrapeTimeout/);
    });
  }
});
