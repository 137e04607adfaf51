/** The alerts of the chart: by promtool, with series that make each of them fire and series that do not. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { metricsIn } from '../../charts/alerts/metrics_in.ts';
import { ALERTS } from '../../charts/alerts/table.ts';
import { FOREIGN } from '../../docs/tables/metric_notes.ts';
import { metricRows } from '../../docs/tables/metrics.ts';
import { CASES, type AlertCase, type Series } from '../prometheus/alert_series.ts';
import { openPrometheus } from '../prometheus/programs.ts';
import { only, refusal, render } from './render.ts';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}
interface Spec {
  groups: { interval?: string; rules: Rule[] }[];
}

const RUNBOOKS = join(import.meta.dirname, '..', '..', 'docs', 'runbooks');
/** What somebody who was woken looks for, in this order. */
const HEADINGS = ['What it means', 'Look', 'Do', 'Wake somebody'];

const specOf = (prometheusRule: object = {}): Spec =>
  only(render({ metrics: { prometheusRule: { enabled: true, ...prometheusRule } } }), 'PrometheusRule', 'probeyard')[
    'spec'
  ] as Spec;
const rulesOf = (spec: Spec): Rule[] => spec.groups.flatMap(({ rules }) => rules);

describe('chart: alerts', function () {
  this.timeout(300_000);
  let spec: Spec;
  let rules: Rule[];

  before(() => {
    spec = specOf();
    rules = rulesOf(spec);
  });

  it('renders every alert, with nothing left to replace', () => {
    assert.deepEqual(
      rules.map(({ alert }) => alert),
      ALERTS.map(({ name }) => name),
    );
    assert.doesNotMatch(JSON.stringify(rules), /@\w+@|<=?\d/);
  });

  it('every metric in an alert is one of ours or of the listed others', () => {
    const known = new Set([...metricRows(), ...FOREIGN].map(({ name }) => name));
    for (const { alert, expr } of rules) {
      const names = metricsIn(expr);
      assert.ok(names.length > 0, `${alert}: no metric`);
      assert.deepEqual(
        names.filter((name) => !known.has(name)),
        [],
        alert,
      );
    }
  });

  it('every label in an alert is one that its metric has', () => {
    const added = ['cluster', 'namespace', 'pod', 'persistentvolumeclaim'];
    for (const { alert, expr } of rules)
      for (const [, name, matchers] of expr.matchAll(/(probeyard_\w+)\{([^}]*)\}/g)) {
        const labels = [...matchers!.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label!);
        const has = metricRows().find((row) => row.name === name)?.labels ?? [];
        assert.deepEqual(
          labels.filter((label) => !has.includes(label) && !added.includes(label)),
          [],
          `${alert}: ${name}`,
        );
      }
  });

  it('every alert has a page, every page an alert, and each page answers the same questions', () => {
    assert.deepEqual(
      readdirSync(RUNBOOKS).filter((file) => file !== 'README.md'),
      ALERTS.map(({ name }) => `${name}.md`).sort(),
    );
    for (const { name, severity } of ALERTS) {
      const page = readFileSync(join(RUNBOOKS, `${name}.md`), 'utf8');
      assert.match(page, new RegExp(`^# ${name}\n\nSeverity: ${severity}\\.`), name);
      assert.deepEqual(
        [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading),
        HEADINGS,
        name,
      );
      assert.match(page, / {4}kubectl |\]\(/, `${name}: how to look`);
    }
  });

  it('links to the page of each alert where the operator serves them', () => {
    for (const { annotations, alert } of rulesOf(specOf({ runbookUrl: 'https://git.example.com/runbooks/' })))
      assert.equal(annotations.runbook_url, `https://git.example.com/runbooks/${alert}.md`);
    for (const { annotations } of rules)
      assert.ok(existsSync(join(RUNBOOKS, '..', '..', annotations.runbook_url)), annotations.runbook_url);
  });

  it('the time factor shortens every window and every `for`, and nothing else', () => {
    const short = rulesOf(specOf({ timeFactor: 1 / 60 }));
    const held = (rule: Rule | undefined) => rule?.for;
    assert.equal(held(short.find(({ alert }) => alert === 'ProbeyardNoLeader')), '1000ms');
    const blank = ({ expr }: Rule) => expr.replaceAll(/\[\d+(ms|s|m|h|d)\]/g, '[]').replaceAll(/> [\d.]+ unless/g, '');
    const times = (text: string) =>
      [...text.matchAll(/\[(\d+)(ms|s|m|h|d)\]/g)].map(([, n, unit]) => [Number(n), unit]);
    for (const [index, rule] of rules.entries()) {
      if (rule.alert !== 'ProbeyardWebhooksLate') assert.equal(blank(short[index]!), blank(rule));
      for (const [place, [n, unit]] of times(rule.expr).entries()) {
        const ms = (n as number) * { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit as 's']!;
        assert.deepEqual(times(short[index]!.expr)[place], [Math.round(ms / 60), 'ms'], rule.alert);
      }
    }
  });

  it('name their cluster where the operator does', () => {
    for (const { expr, alert } of rulesOf(specOf({ cluster: 'west' })))
      for (const [, matchers] of expr.matchAll(/\{([^}]*)\}/g))
        assert.match(matchers!, /^cluster="west", namespace="probeyard"/, alert);
  });

  it('service levels are percentages below 100', () => {
    for (const answers of [100, 10, '99'])
      assert.match(refusal({ metrics: { prometheusRule: { serviceLevels: { answers, queue: 95 } } } }), /answers/);
    const [rule] = rulesOf(specOf({ serviceLevels: { answers: 99, queue: 90 } })).filter(
      ({ alert }) => alert === 'ProbeyardAnswersFailFast',
    );
    assert.match(rule!.expr, /> 14\.4 \* 0\.01 and /);
  });

  it('there are series for every alert', () => {
    assert.deepEqual(Object.keys(CASES).sort(), ALERTS.map(({ name }) => name).sort());
  });

  describe('promtool', () => {
    let folder: string;
    let promtool: string;

    before(async function () {
      const programs = await openPrometheus();
      if (typeof programs === 'string') {
        console.log(`      skipped: ${programs}`);
        this.skip();
      }
      ({ promtool } = programs);
      folder = mkdtempSync(join(tmpdir(), 'probeyard-alerts-'));
      writeFileSync(join(folder, 'rules.yaml'), stringify(spec));
      writeFileSync(join(folder, 'short.yaml'), stringify(specOf({ timeFactor: 1 / 60 })));
    });
    after(() => folder && rmSync(folder, { recursive: true, force: true }));

    const run = (...args: string[]): void => {
      try {
        execFileSync(promtool, args, { stdio: 'pipe', encoding: 'utf8' });
      } catch (error) {
        assert.fail((error as { stdout: string; stderr: string }).stdout + (error as { stderr: string }).stderr);
      }
    };

    it('accepts the rules, at full length and shortened', () => {
      run('check', 'rules', join(folder, 'rules.yaml'), join(folder, 'short.yaml'));
    });

    const onlyRule = (alert: string): Spec => ({
      groups: spec.groups.flatMap((group) => {
        const own = group.rules.filter((rule) => rule.alert === alert);
        return own.length > 0 ? [{ ...group, rules: own }] : [];
      }),
    });
    const expected = (alert: string, labels: Record<string, string>) => {
      const { labels: own, annotations } = rules.find((rule) => rule.alert === alert)!;
      const filled = annotations.summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label]!);
      return {
        exp_labels: { ...own, namespace: 'probeyard', ...labels },
        exp_annotations: { ...annotations, summary: filled },
      };
    };
    const test = (alertname: string, { at, labels = {} }: AlertCase, series: Series[], fires: boolean) => ({
      name: alertname,
      interval: '1m',
      input_series: series.map(({ series: of, values }) => ({ series: of, values })),
      alert_rule_test: [{ eval_time: at, alertname, exp_alerts: fires ? [expected(alertname, labels)] : [] }],
    });

    it('of two clusters, the one that has a fault has the alert', () => {
      const rulesFile = join(folder, 'clusters.rules.yaml');
      writeFileSync(rulesFile, stringify(onlyRule('ProbeyardNoLeader')));
      const inCluster = (cluster: string, { series, values }: Series): Series => ({
        series: series.replace('{', `{cluster="${cluster}",`),
        values,
      });
      const { fires, calm, at } = CASES['ProbeyardNoLeader']!;
      const both = [
        ...fires.map((one) => inCluster('a', one)),
        ...calm['one leads']!.map((one) => inCluster('b', one)),
      ];
      const file = join(folder, 'clusters.yaml');
      writeFileSync(
        file,
        stringify({
          rule_files: ['clusters.rules.yaml'],
          evaluation_interval: '1m',
          tests: [test('ProbeyardNoLeader', { at, labels: { cluster: 'a' }, fires, calm }, both, true)],
        }),
      );
      run('test', 'rules', file);
    });

    for (const [alert, one] of Object.entries(CASES)) {
      it(`${alert} fires, and does not: ${Object.keys(one.calm).join(', ')}`, () => {
        const file = join(folder, `${alert}.yaml`);
        // Without the other rules, which promtool would evaluate at every minute, too.
        writeFileSync(join(folder, `${alert}.rules.yaml`), stringify(onlyRule(alert)));
        writeFileSync(
          file,
          stringify({
            rule_files: [`${alert}.rules.yaml`],
            evaluation_interval: '1m',
            tests: [
              test(alert, one, one.fires, true),
              ...Object.values(one.calm).map((series) => test(alert, one, series, false)),
            ],
          }),
        );
        run('test', 'rules', file);
      });
    }
  });
});
