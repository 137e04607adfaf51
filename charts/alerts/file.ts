/** charts/probeyard/files/alerts.yaml: what the chart's template turns into a PrometheusRule. */
import { stringify } from 'yaml';
import { ALERTS } from './table.ts';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const secondsOf = (duration: string): number => Number.parseInt(duration, 10) * SECONDS[duration.at(-1)!]!;

/** The template replaces each token of `times` and `seconds`; it does not parse expressions. */
export function alertsFile(): string {
  const rules = stringify(
    ALERTS.map(({ name, severity, expr, for: held, summary }) => ({
      alert: name,
      expr,
      ...(held === '0s' ? {} : { for: `<${held}>` }),
      labels: { severity },
      annotations: { summary, runbook_url: `@runbooks@/${name}.md` },
    })),
    { lineWidth: 0 },
  );
  const found = (pattern: RegExp) => [...new Set([...rules.matchAll(pattern)].map(([, text]) => text!))].sort();
  return [
    '# Made from charts/alerts/table.ts by `make generate`: change it there.',
    stringify(
      {
        times: Object.fromEntries(found(/<(\d+[smhd])>/g).map((time) => [time, secondsOf(time)])),
        seconds: found(/<=(\d+)>/g).map(Number),
        rules,
      },
      { lineWidth: 0 },
    ),
  ].join('\n');
}
