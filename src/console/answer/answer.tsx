/** The answer to a request, in tabs: only those that it has something for. */
import type { Answer as AnswerOf } from '../api/client.ts';
import type { C2paReport, HlsReport, PolicyResult, ProbeReport } from '../api/types.ts';
import { Tabs, type Tab } from '../parts/tabs.tsx';
import { Disagreements } from './disagreements.tsx';
import { Ladder } from './ladder.tsx';
import type { StoredComparison } from './matrix.ts';
import { Overview } from './overview.tsx';
import { Policy } from './policy.tsx';
import { Provenance } from './provenance.tsx';
import { Raw } from './raw.tsx';
import { Versions } from './versions.tsx';

type Detail = AnswerOf<'GET media/log/:id'>;

/** Null: it did not run, failed, or its output was not JSON. `has`: what every report of the kind has. */
function read<T>(text: unknown, has: keyof T & string): T | null {
  if (typeof text !== 'string') return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && has in value ? (value as T) : null;
  } catch {
    return null;
  }
}

function tabsOf(detail: Detail): Tab[] {
  const report = read<ProbeReport>(detail['probe-report-response'], 'container');
  const hls = read<HlsReport>(detail['msv-response'], 'summary');
  const c2pa = read<C2paReport>(detail['c2pa-response'], 'manifests');
  const policy = read<PolicyResult>(detail['policy-response'], 'rules');
  const comparison = read<StoredComparison>(detail['comparison-response'], 'fields');
  return [
    ...(comparison
      ? [
          {
            name: 'versions',
            title: 'Versions',
            count: comparison.summary.fields,
            show: () => <Versions comparison={comparison} />,
          },
        ]
      : []),
    ...(report
      ? [
          { name: 'overview', title: 'Overview', show: () => <Overview report={report} /> },
          {
            name: 'disagreements',
            title: 'Disagreements',
            ...(report.diff ? { count: report.diff.length } : {}),
            show: () => <Disagreements report={report} />,
          },
        ]
      : []),
    ...(hls
      ? [{ name: 'ladder', title: 'Ladder', count: hls.variants.length, show: () => <Ladder report={hls} /> }]
      : []),
    ...(c2pa ? [{ name: 'provenance', title: 'Provenance', show: () => <Provenance report={c2pa} /> }] : []),
    ...(policy ? [{ name: 'policy', title: 'Policy', show: () => <Policy verdict={policy} /> }] : []),
    { name: 'raw', title: 'Raw', show: () => <Raw detail={detail} /> },
  ];
}

export function Answer({ detail }: { detail: Detail }) {
  return <Tabs label="Answer" tabs={tabsOf(detail)} />;
}
