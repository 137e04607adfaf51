/** The answer to a request, in tabs: only those that it has something for. */
import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useId } from 'preact/hooks';
import { SIGNS } from '../../base/signs.ts';
import { containerFacts, disagreements, warningsTable } from '../../media/answer/file.ts';
import { provenance } from '../../media/answer/provenance.ts';
import { changed, goWith, hrefOf, hrefWith, usePlace } from '../router.ts';
import { Stranger } from '../parts/values.tsx';
import { signalsOf, verdictOf, whatItIs } from './sentence.ts';
import { queryOf } from '../playground/form.ts';
import type { OpenAnswer } from '../worker/open_answer.ts';
import { Ladder } from './ladder.tsx';
import { Content } from './content.tsx';
import { Tracks } from './tracks.tsx';
import { Policy } from './policy.tsx';
import { Raw } from './raw.tsx';
import { AnswerParts } from './section.tsx';
import { Timeline } from './timeline.tsx';
import { isOfTwoSources, Versions } from './versions.tsx';

// Tabs: the one that is open stands in the address, and the arrow keys go from one to the next.

interface Tab {
  name: string;
  title: string;
  /** Beside the title: how many. */
  count?: number | undefined;
  show: () => ComponentChildren;
}

const STEPS: Record<string, (index: number, last: number) => number> = {
  ArrowRight: (index, last) => (index === last ? 0 : index + 1),
  ArrowLeft: (index, last) => (index === 0 ? last : index - 1),
  Home: () => 0,
  End: (_, last) => last,
};

export function Answer({ answer }: { answer: OpenAnswer }) {
  const id = useId();
  const { query } = usePlace();
  const { report } = answer.reports;
  const tabs = tabsOf(answer);
  const found = tabs.findIndex(({ name }) => name === query.get('tab'));
  const open = Math.max(0, found);
  const choose = (index: number) => goWith({ tab: index === 0 ? null : tabs[index]!.name });
  const step = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const next = STEPS[event.key]?.(open, tabs.length - 1);
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
    event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <>
      {report && <Tracks report={report} />}
      <div role="tablist" aria-label="Answer" class="tabs" onKeyDown={step}>
        {tabs.map(({ name, title, count: more }, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={index === open}
            aria-controls={`${id}-panel`}
            tabIndex={index === open ? 0 : -1}
            onClick={() => choose(index)}
          >
            {title}
            {more !== undefined && <span class="unit"> {more}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tabs[open]!.name}`} tabIndex={0} class="panel">
        {tabs[open]!.show()}
      </div>
    </>
  );
}

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
  const { report, hls, c2pa, qc, waived, policy, comparison } = answer.reports;
  const { id, request } = answer.facts;
  const tabs: (Tab | null)[] = [
    comparison && {
      name: 'versions',
      title: isOfTwoSources(comparison) ? 'Comparison' : 'Versions',
      count: comparison.summary.fields,
      show: () => <Versions comparison={comparison} />,
    },
    report && {
      name: 'overview',
      title: 'Overview',
      show: () => <AnswerParts parts={[warningsTable(report), containerFacts(report)]} />,
    },
    report && {
      name: 'disagreements',
      title: 'Disagreements',
      count: report.diff?.length,
      show: () => <AnswerParts parts={disagreements(report).parts} />,
    },
    hls && {
      name: 'ladder',
      title: 'Ladder',
      count: hls.variants.length,
      show: () => <Ladder report={hls} linkForLines={withLines(answer)} />,
    },
    c2pa && {
      name: 'provenance',
      title: 'Provenance',
      show: () => <AnswerParts parts={provenance(c2pa).parts} />,
    },
    qc && {
      name: 'content',
      title: 'Content checks',
      show: () => <Content report={qc} waived={waived ?? []} id={id} />,
    },
    policy && { name: 'policy', title: 'Policy', show: () => <Policy verdict={policy} id={id} /> },
    asksForTimeline(request) ? { name: 'timeline', title: 'Timeline', show: () => <Timeline id={id} /> } : null,
    { name: 'raw', title: 'Raw', show: () => <Raw answer={answer} /> },
  ];
  return tabs.filter((tab) => tab !== null);
}

/** Verdict, what the file is, and links to the tabs that say more. */
export function Summary({ answer: { facts, reports } }: { answer: OpenAnswer }) {
  const signals = signalsOf(reports);
  const { tone, text } = verdictOf(facts, signals);
  const what = whatItIs(reports);
  return (
    <>
      <p class="verdict">
        <span class={`badge ${tone}`}>
          <span aria-hidden="true">{SIGNS[tone]}</span> {text}
        </span>
        {what !== undefined && <Stranger text={what} />}
      </p>
      {signals.length > 0 && (
        <ul class="signals" aria-label="Findings">
          {signals.map((signal) => (
            <li key={signal.text} class={signal.tone}>
              <a href={hrefWith({ tab: signal.tab })}>
                <span aria-hidden="true">{SIGNS[signal.tone]}</span> <Stranger text={signal.text} most={100} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
