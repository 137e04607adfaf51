/** Prometheus on a running installation: every documented metric is there, every panel has data, and no alert fires. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { DASHBOARDS } from '../../charts/dashboards/table.ts';
import { metricRows } from '../../docs/tables/metrics.ts';
import { only, render } from '../chart/render.ts';
import { openPrometheus } from '../prometheus/programs.ts';
import { podTargets } from '../prometheus/pod_targets.ts';
import { startPrometheus, type RunningPrometheus } from '../prometheus/server.ts';
import { serveFile } from '../node/origin.ts';
import { cluster, eventually, fixtures, type Cluster } from './fixture.ts';

/** Only with an endpoint of traces, or with a server of events. */
const NOT_ALWAYS = new Set([
  'probeyard_spans_total',
  'probeyard_api_events_messages_total',
  'probeyard_api_events_server_up',
]);
/** Panels of what does not exist here: the kubelet is not scraped, and nothing fires. */
const EMPTY = new Set(['Free share of the volumes', 'Alerts that fire']);

describe('Prometheus on the cluster', function () {
  this.timeout(400_000);
  let c: Cluster;
  let prometheus: RunningPrometheus | undefined;

  before(async function () {
    const programs = await openPrometheus();
    if (typeof programs === 'string') {
      console.log(`      skipped: ${programs}`);
      this.skip();
    }
    c = await cluster();
    const rules = render({ metrics: { prometheusRule: { enabled: true } } });
    const { groups } = only(rules, 'PrometheusRule', 'probeyard')['spec'] as { groups: object[] };
    prometheus = await startPrometheus({ programs, targets: await podTargets(c), groups });
    await eventually(
      'every target is scraped',
      60,
      async () => (await prometheus!.query('min(up) == 1 and count(up) >= 4')).length > 0,
    );
  });
  after(async () => {
    await prometheus?.stop();
    await c?.close();
  });

  it('every metric of the page is exported, with the labels that it names', async () => {
    const { token } = await c.newToken(4);
    const origin = await c.origin();
    const { status } = await c.probe({ url: `${origin.url}/tiny.mp4` }, { token });
    assert.equal(status, 200);
    const rows = metricRows().filter(({ name }) => !NOT_ALWAYS.has(name));
    const seriesOf = ({ name, type }: (typeof rows)[number]) => (type === 'histogram' ? `${name}_count` : name);
    // A counter or a gauge with labels has no series before it has a value.
    let missing = rows.filter(({ labels }) => labels.length === 0);
    // What a leader tries every minute is not known at the beginning of its term.
    await eventually('every metric without labels is exported', 90, async () => {
      const found = await Promise.all(
        missing.map(async (row) => (await prometheus!.query(`count({__name__="${seriesOf(row)}"})`)).length > 0),
      );
      missing = missing.filter((_, index) => !found[index]);
      if (missing.length > 0) throw new Error(missing.map(({ name }) => name).join(', '));
      return true;
    });
    for (const row of rows)
      for (const { labels: found } of await prometheus!.query(seriesOf(row)))
        for (const label of row.labels) assert.ok(Object.hasOwn(found, label), `${row.name}: ${label}`);
  });

  it('while jobs run, no panel of a dashboard is empty', async () => {
    const { token } = await c.newToken(2);
    const seen = new AbortController();
    const slow = await c.origin(async (request, response) => {
      await delay(20_000, undefined, { signal: seen.signal }).catch(() => undefined);
      await serveFile(fixtures, request, response);
    });
    // On a busy machine a panel may need longer than one job takes: there is always a next one.
    const running = Array.from({ length: 3 }, async () => {
      while (!seen.signal.aborted) await c.probe({ url: `${slow.url}/tiny.mp4` }, { token });
    });
    try {
      const tokens = {
        api: 'namespace="probeyard", pod=~"probeyard-api-.+"',
        controller: 'namespace="probeyard", pod=~"probeyard-controller-.+"',
        both: 'namespace="probeyard", pod=~"probeyard-(api|controller)-.+"',
        volumes: 'namespace="probeyard"',
      };
      await eventually('every panel has data', 60, async () => {
        const empty: string[] = [];
        for (const { panels } of DASHBOARDS)
          for (const { title, queries } of panels)
            for (const { expr } of queries) {
              const asked = expr
                .replaceAll('$__rate_interval', '10s')
                .replaceAll(/@(\w+)@/g, (_, token_: string) => tokens[token_ as keyof typeof tokens]);
              if (!EMPTY.has(title) && (await prometheus!.query(asked)).length === 0) empty.push(title);
            }
        if (empty.length > 0) throw new Error(`empty: ${[...new Set(empty)].join(', ')}`);
        return true;
      });
    } finally {
      seen.abort();
      await Promise.allSettled(running);
    }
  });

  it('no alert fires on an installation that is well', async () => {
    const firing = (await prometheus!.alerts()).filter(({ state }) => state === 'firing');
    assert.deepEqual(
      firing.map(({ alert, labels }) => `${alert} ${JSON.stringify(labels)}`),
      [],
    );
  });
});
