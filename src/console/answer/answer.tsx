/** The answer to a request, in tabs: only those that it has something for. */
import { queryOf } from '../playground/form.ts';
import { changed, hrefOf } from '../router.ts';
import { Tabs, type Tab } from '../parts/tabs.tsx';
import type { OpenAnswer } from '../worker/open_answer.ts';
import { Disagreements } from './disagreements.tsx';
import { Ladder } from './ladder.tsx';
import { isOfTwoSources } from './matrix.ts';
import { Overview } from './overview.tsx';
import { Policy } from './policy.tsx';
import { Provenance } from './provenance.tsx';
import { Raw } from './raw.tsx';
import { Timeline } from './timeline.tsx';
import { Versions } from './versions.tsx';

/** Only a request that asked for one has a timeline. */
function asksForTimeline(request: string): boolean {
  const { timeline } = JSON.parse(request) as { timeline?: { enabled?: boolean } };
  return timeline?.enabled === true;
}

/** The playground, filled in to ask for the lines of the playlists. */
function withLines({ facts }: OpenAnswer): string {
  const query = facts.url === '' ? new URLSearchParams() : queryOf(facts);
  return hrefOf('/playground', changed(query, { 'mediastreamvalidator.enable_playlist_text': 'true' }));
}

function tabsOf(answer: OpenAnswer): Tab[] {
  const { report, hls, c2pa, policy, comparison } = answer.reports;
  return [
    ...(comparison
      ? [
          {
            name: 'versions',
            title: isOfTwoSources(comparison) ? 'Comparison' : 'Versions',
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
      ? [
          {
            name: 'ladder',
            title: 'Ladder',
            count: hls.variants.length,
            show: () => <Ladder report={hls} again={withLines(answer)} />,
          },
        ]
      : []),
    ...(c2pa ? [{ name: 'provenance', title: 'Provenance', show: () => <Provenance report={c2pa} /> }] : []),
    ...(policy
      ? [{ name: 'policy', title: 'Policy', show: () => <Policy verdict={policy} id={answer.facts.id} /> }]
      : []),
    ...(asksForTimeline(answer.facts.request)
      ? [{ name: 'timeline', title: 'Timeline', show: () => <Timeline id={answer.facts.id} /> }]
      : []),
    { name: 'raw', title: 'Raw', show: () => <Raw answer={answer} /> },
  ];
}

export function Answer({ answer }: { answer: OpenAnswer }) {
  return <Tabs label="Answer" tabs={tabsOf(answer)} />;
}
