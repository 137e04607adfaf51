/** What the Prometheus operator is told of scrapes. */
import assert from 'node:assert/strict';
import { container, environmentOf, mountedAt, only, refusal, render } from './render.ts';

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

  const metricsOf = (values: object) =>
    render({ metrics: { auth: 'kubernetes', tls: { existingSecret: 'metrics-tls' }, ...values } });

  it('kubernetes: reviews by the API server, and Prometheus sends its own token', () => {
    const objects = metricsOf({ serviceMonitor: { enabled: true } });
    const [endpoint] = only(objects, 'ServiceMonitor', 'probeyard')['spec'].endpoints;
    assert.deepEqual(endpoint, {
      port: 'metrics',
      scheme: 'https',
      tlsConfig: {
        ca: { secret: { name: 'metrics-tls', key: 'ca.crt' } },
        serverName: 'probeyard-metrics.probeyard.svc',
      },
      bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
      interval: '30s',
    });
    const { roleRef, subjects } = only(objects, 'ClusterRoleBinding', 'probeyard-metrics-reviews');
    assert.equal(roleRef.name, 'system:auth-delegator');
    assert.deepEqual(
      subjects.map(({ name }: { name: string }) => name),
      ['probeyard-api', 'probeyard-controller'],
    );
    assert.deepEqual(only(objects, 'ClusterRole', 'probeyard-metrics-reader')['rules'], [
      { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    ]);
    assert.match(
      refusal({ metrics: { auth: 'kubernetes', podMonitor: { enabled: true } } }),
      /metrics\.tokenSecret: required with metrics\.auth=kubernetes and a PodMonitor/,
    );
  });

  it('token: the same Secret in the pods and in the monitor', () => {
    assert.match(refusal({ metrics: { auth: 'token' } }), /metrics\.tokenSecret: required with metrics\.auth=token/);
    const values = { auth: 'token', tokenSecret: 'reader', podMonitor: { enabled: true } };
    const objects = metricsOf(values);
    const [endpoint] = only(objects, 'PodMonitor', 'probeyard')['spec'].podMetricsEndpoints;
    assert.deepEqual(endpoint.authorization, { credentials: { name: 'reader', key: 'token' } });
    for (const role of ['api', 'controller']) {
      const env = environmentOf(container(objects, role));
      const files = mountedAt(objects, role, '/etc/probeyard');
      assert.equal(env['PY_METRICS_AUTH'], 'token');
      assert.equal(files[env['PY_METRICS_TOKEN_FILE']!.replace('/etc/probeyard/', '')], 'reader/token');
      assert.equal(env['PY_METRICS_TLS_FOLDER'], '/etc/probeyard/metrics');
      assert.equal(files['metrics/tls.crt'], 'metrics-tls/tls.crt');
      assert.equal(files['metrics/tls.key'], 'metrics-tls/tls.key');
      const { readinessProbe } = container(objects, role) as unknown as { readinessProbe: { httpGet: object } };
      assert.deepEqual(readinessProbe.httpGet, { path: '/readyz', port: 'metrics', scheme: 'HTTPS' });
    }
  });
});
