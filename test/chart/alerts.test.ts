import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { stringify } from 'yaml';
import { only, render } from './render.ts';

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
}

/** From Debian's package prometheus, in the PATH or unpacked in the cache. */
const PROMTOOL = [
  ...(process.env['PATH'] ?? '').split(delimiter),
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard', 'promtool'),
]
  .map((folder) => join(folder, 'promtool'))
  .find((file) => existsSync(file));

/** Series of two controllers, scraped every 30 s. */
const controllers = (a: string, b: string) =>
  [a, b].flatMap((values, index) => {
    const labels = `namespace="probeyard",pod="probeyard-controller-${index}"`;
    return [
      { series: `probeyard_leading{${labels}}`, values },
      { series: `up{${labels}}`, values: '1x20' },
    ];
  });
const api = { series: 'up{namespace="probeyard",pod="probeyard-api-0"}', values: '1x20' };

describe('chart: alerts', function () {
  this.timeout(60_000);
  let spec: { groups: { rules: Rule[] }[] };
  let rules: Rule[];

  before(() => {
    const objects = render({ metrics: { prometheusRule: { enabled: true } } });
    ({ spec } = only(objects, 'PrometheusRule', 'probeyard') as unknown as { spec: typeof spec });
    rules = spec.groups.flatMap((group) => group.rules);
  });

  it('there is an alert for each part that requests need', () => {
    assert.deepEqual(
      rules.map(({ alert }) => alert),
      ['ProbeyardApiMissing', 'ProbeyardControllerMissing', 'ProbeyardNoLeader', 'ProbeyardCertificateExpiring'],
    );
  });

  it('every alert uses metrics that exist', () => {
    const known = readFileSync(new URL('../../docs/operating/metrics.md', import.meta.url), 'utf8');
    for (const { expr } of rules)
      for (const [metric] of expr.matchAll(/probeyard_\w+/g)) assert.match(known, new RegExp(`\`${metric}\\b`));
  });

  it('promtool: ProbeyardNoLeader fires after a minute without a leader, and not during a failover', function () {
    if (PROMTOOL === undefined) {
      console.log("      skipped: there is no promtool on this machine (Debian's package prometheus has it)");
      this.skip();
    }
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-alerts-'));
    try {
      writeFileSync(join(folder, 'rules.yaml'), stringify(spec));
      const test = (series: object[], fires: boolean) => ({
        interval: '30s',
        input_series: [...series, api],
        promql_expr_test: [],
        alert_rule_test: ['ProbeyardNoLeader', 'ProbeyardControllerMissing'].map((alertname) => ({
          eval_time: '5m',
          alertname,
          exp_alerts:
            fires && alertname === 'ProbeyardNoLeader'
              ? [
                  {
                    exp_labels: { severity: 'critical' },
                    exp_annotations: { summary: 'No controller of probeyard leads. Requests wait.' },
                  },
                ]
              : [],
        })),
      });
      const file = join(folder, 'tests.yaml');
      writeFileSync(
        file,
        stringify({
          rule_files: ['rules.yaml'],
          evaluation_interval: '30s',
          tests: [
            test(controllers('0x20', '0x20'), true),
            test(controllers('1x20', '0x20'), false),
            test(controllers('1x9 0x10', '0x10 1x9'), false),
          ],
        }),
      );
      execFileSync(PROMTOOL, ['test', 'rules', file], { stdio: 'pipe' });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
