/** Grafana's dashboards: every panel's query answers on a real Prometheus that scrapes the metrics of both roles. */
import assert from 'node:assert/strict';
import { metricsIn } from '../../charts/alerts/metrics_in.ts';
import { DASHBOARDS } from '../../charts/dashboards/table.ts';
import { FOREIGN } from '../../docs/tables/metric_notes.ts';
import { metricRows } from '../../docs/tables/metrics.ts';
import { openPrometheus } from '../prometheus/programs.ts';
import {
  KUBELET_TEXT,
  SERVERS_TEXT,
  apiSample,
  controllerSample,
  serveMetrics,
  type Served,
} from '../prometheus/samples.ts';
import { startPrometheus, type RunningPrometheus } from '../prometheus/server.ts';
import { until } from '../until.ts';
import { render, type Rendered } from './render.ts';

interface Shown {
  uid: string;
  title: string;
  templating: { list: { name: string; type: string; current?: object }[] };
  panels: {
    id: number;
    title: string;
    description: string;
    gridPos: { x: number; y: number; w: number; h: number };
    targets: { refId: string; expr: string; legendFormat: string }[];
  }[];
}

const configMaps = (values: object = {}): Rendered[] =>
  render({ metrics: { dashboards: { enabled: true, ...values } } }).filter(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('-dashboard-'),
  );
const shownIn = (maps: Rendered[]): Shown[] =>
  maps.flatMap(({ data }) => Object.values(data as Record<string, string>).map((text) => JSON.parse(text) as Shown));
/** Grafana puts in four times the interval of the data source, at least. */
const asked = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '10s').replaceAll('$cluster', '.*').replaceAll('$namespace', 'probeyard');

describe('chart: dashboards', function () {
  this.timeout(300_000);
  let dashboards: Shown[];

  before(() => {
    dashboards = shownIn(configMaps());
  });

  it('none by default', () => {
    assert.deepEqual(
      render().filter(({ metadata }) => metadata.name.includes('-dashboard-')),
      [],
    );
  });

  it('there is a ConfigMap for each, with the label that the sidecar looks for', () => {
    assert.equal(dashboards.length, DASHBOARDS.length);
    for (const { metadata } of configMaps()) assert.equal(metadata.labels?.['grafana_dashboard'], '1');
    const [other] = configMaps({ labels: { mine: 'x' }, annotations: { grafana_folder: 'Media' }, namespace: 'eyes' });
    assert.equal(other!.metadata.labels?.['mine'], 'x');
    assert.deepEqual(other!.metadata.annotations, { grafana_folder: 'Media' });
    assert.equal(other!.metadata.namespace, 'eyes');
  });

  it('each is valid for Grafana: ids, places and references of queries are distinct', () => {
    assert.equal(new Set(dashboards.map(({ uid }) => uid)).size, dashboards.length);
    for (const { uid, title, panels, templating } of dashboards) {
      assert.ok(uid.length <= 40, `${uid}: Grafana accepts 40 characters`);
      assert.deepEqual(
        templating.list.map(({ name, type }) => [name, type]),
        [
          ['source', 'datasource'],
          ['cluster', 'query'],
          ['namespace', 'query'],
        ],
      );
      assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, title);
      assert.equal(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size, panels.length, title);
      for (const { targets, description, title: of } of panels) {
        assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, of);
        assert.ok(description.length > 0, of);
      }
    }
    assert.doesNotMatch(JSON.stringify(dashboards), /@\w+@/);
  });

  it('two installations in one cluster have their own', () => {
    const values = { metrics: { dashboards: { enabled: true } } };
    const other = shownIn(
      render(values, { release: 'other', namespace: 'media' }).filter(({ metadata }) =>
        metadata.name.includes('-dashboard-'),
      ),
    );
    for (const { uid } of other) assert.ok(!dashboards.some((one) => one.uid === uid), uid);
    assert.match(JSON.stringify(other), /namespace=~\\"\$namespace\\", pod=~\\"other-probeyard-api-\.\+\\"/);
    for (const { templating } of other)
      assert.deepEqual(templating.list.find(({ name }) => name === 'namespace')?.current, {
        text: 'media',
        value: 'media',
      });
  });

  it('every metric in a panel is one of ours or of the listed others', () => {
    const known = new Set([...metricRows(), ...FOREIGN].map(({ name }) => name));
    for (const { panels } of dashboards)
      for (const { targets, title } of panels)
        for (const { expr } of targets) {
          const names = metricsIn(expr);
          assert.ok(names.length > 0, title);
          assert.deepEqual(
            names.filter((name) => !known.has(name)),
            [],
            title,
          );
        }
  });

  describe('on a real Prometheus', () => {
    let prometheus: RunningPrometheus | undefined;
    const served: Served[] = [];

    before(async function () {
      const programs = await openPrometheus();
      if (typeof programs === 'string') {
        console.log(`      skipped: ${programs}`);
        this.skip();
      }
      const api = apiSample();
      const controller = controllerSample();
      const serve = async (text: () => Promise<string>, pod: string) =>
        served.push(await serveMetrics(text, pod === '' ? {} : { namespace: 'probeyard', pod }));
      await serve(() => api.metrics(), 'probeyard-api-0');
      await serve(async () => (await controller.metrics()) + SERVERS_TEXT, 'probeyard-controller-0');
      await serve(async () => KUBELET_TEXT, '');
      prometheus = await startPrometheus({
        programs,
        targets: served.map(({ target }) => target),
        // One that fires, for the panel of alerts.
        groups: [{ name: 'x', rules: [{ alert: 'ProbeyardTest', expr: 'up == 1' }] }],
      });
      await until(
        'each target was scraped five times, and the alert fires',
        async () =>
          (await prometheus!.query('min(count_over_time(up[1m])) >= 5')).length > 0 &&
          (await prometheus!.query('count(up == 1) == 3')).length > 0 &&
          (await prometheus!.query('ALERTS{alertstate="firing"}')).length > 0,
        120_000,
      );
    });
    after(async () => {
      await prometheus?.stop();
      for (const one of served) one.stop();
    });

    for (const { title, panels } of DASHBOARDS)
      it(`${title}: no query is invalid, and none of its ${panels.length} panels is empty`, async () => {
        const shown = dashboards.find((one) => one.title === title)!;
        for (const { title: panel, targets } of shown.panels)
          for (const { expr, legendFormat } of targets) {
            const found = await prometheus!.query(asked(expr));
            assert.ok(found.length > 0, `${panel}: ${expr}`);
            for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
              assert.ok(Object.hasOwn(found[0]!.labels, label!), `${panel}: no label ${label}`);
          }
      });
  });
});
