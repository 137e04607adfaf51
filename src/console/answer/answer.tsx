/** The answer to a request, in tabs: only those that it has something for. */
import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useId } from 'preact/hooks';
import { changed, goWith, hrefOf, usePlace } from '../router.ts';
import type { ProbeReport } from '../../api_types.ts';
import { type Column, Facts, Table } from '../parts/table.tsx';
import { strangerColumn } from '../parts/columns.tsx';
import { bytes, count, said } from '../parts/figures.ts';
import { Stranger } from '../parts/stranger.tsx';
import { rateOf, sentenceOf } from './sentence.ts';
import { queryOf } from '../playground/form.ts';
import type { OpenAnswer } from '../worker/open_answer.ts';
import { Disagreements } from './disagreements.tsx';
import { Ladder } from './ladder.tsx';
import { isOfTwoSources } from './matrix.ts';
import { Policy } from './policy.tsx';
import { Provenance } from './provenance.tsx';
import { Raw } from './raw.tsx';
import { Timeline } from './timeline.tsx';
import { Versions } from './versions.tsx';

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

function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const id = useId();
  const { query } = usePlace();
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
      <div role="tablist" aria-label={label} class="tabs" onKeyDown={step}>
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

// What the file is: one sentence, the container, a row for each stream, the warnings.

type Stream = ProbeReport['streams'][number];

const bitRate = (value: number | undefined): string =>
  value === undefined || value === 0 ? '' : `${count(Math.round(value / 1000))} kb/s`;

function pictureOrSound({ size, frame_rate: rate, scan_type: scan, sample_rate: samples, channels }: Stream): string {
  return [
    size?.width !== undefined && size.height !== undefined ? `${size.width}x${size.height}` : null,
    rate !== undefined && rate.numerator > 0 ? `${rateOf(rate)} fps` : null,
    scan ?? null,
    samples === undefined ? null : `${count(samples)} Hz`,
    channels === undefined ? null : `${channels} channel${channels === 1 ? '' : 's'}`,
  ]
    .filter((part) => part !== null)
    .join(', ');
}

function pixels({ pixel_format: format, color, hdr, captions, bit_depth: depth }: Stream): string {
  return [
    format?.chroma_subsampling,
    format?.bit_depth === undefined && depth === undefined ? undefined : `${format?.bit_depth ?? depth} bit`,
    color?.primaries,
    color?.transfer,
    color?.range === undefined ? undefined : `range ${color.range}`,
    ...(hdr?.formats ?? []),
    hdr?.dolby_vision_profile === undefined ? undefined : `profile ${hdr.dolby_vision_profile}`,
    hdr?.max_cll === undefined ? undefined : `at most ${hdr.max_cll} cd/m²`,
    captions && ['captions', ...captions.flatMap(({ service }) => service ?? [])].join(' '),
  ]
    .filter((part) => part !== undefined)
    .join(', ');
}

const plain = (title: string, text: (stream: Stream) => string, right = false): Column<Stream> =>
  strangerColumn(title, text, { most: 80, right });

const COLUMNS: readonly Column<Stream>[] = [
  plain('#', ({ index }) => String(index), true),
  plain('Type', ({ type, attached_picture: cover }) => (cover === true ? 'cover' : type)),
  plain('Codec', ({ codec }) => [codec?.name, codec?.profile, codec?.level].filter(Boolean).join(' ')),
  plain('Picture or sound', pictureOrSound),
  plain('Samples', pixels),
  plain('Bit rate', ({ bitrate }) => bitRate(bitrate?.average), true),
  plain('Duration', ({ duration }) => (duration === undefined ? '' : `${duration} s`), true),
  plain('Language', ({ language }) => language ?? ''),
  plain('Title', ({ title }) => title ?? ''),
];

function Overview({ report }: { report: ProbeReport }) {
  const { container, streams, warnings } = report;
  const facts = [
    ['Format', container.format],
    ['Duration', container.duration === undefined ? undefined : `${container.duration} s`],
    ['Size', container.size === undefined ? undefined : said(bytes(container.size))],
    ['Bit rate', bitRate(container.bitrate?.average)],
    ['Title', container.title],
    ['Written by', container.encoder],
    ['Brand', container.brand],
    ['Time code', container.timecode],
    ['Index before the media', container.streamable === undefined ? undefined : container.streamable ? 'yes' : 'no'],
    ['Chapters', container.chapters === undefined ? undefined : String(container.chapters.length)],
  ] as const;
  return (
    <>
      <p class="lead">
        <Stranger text={sentenceOf(report)} />
      </p>
      {warnings.length > 0 && (
        <ul class="warnings" aria-label="Warnings">
          {warnings.map(({ code, message, path }) => (
            <li key={`${code} ${path}`}>
              <span aria-hidden="true">⚠</span> <Stranger text={message} />{' '}
              <span class="unit">
                {code}
                {path !== '' && `, ${path}`}
              </span>
            </li>
          ))}
        </ul>
      )}
      <Facts facts={facts} />
      <Table caption="Streams" columns={COLUMNS} rows={streams} keyOf={({ index }) => index} />
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
  const { report, hls, c2pa, policy, comparison } = answer.reports;
  const { id, request } = answer.facts;
  const tabs: (Tab | null)[] = [
    comparison && {
      name: 'versions',
      title: isOfTwoSources(comparison) ? 'Comparison' : 'Versions',
      count: comparison.summary.fields,
      show: () => <Versions comparison={comparison} />,
    },
    report && { name: 'overview', title: 'Overview', show: () => <Overview report={report} /> },
    report && {
      name: 'disagreements',
      title: 'Disagreements',
      count: report.diff?.length,
      show: () => <Disagreements report={report} />,
    },
    hls && {
      name: 'ladder',
      title: 'Ladder',
      count: hls.variants.length,
      show: () => <Ladder report={hls} again={withLines(answer)} />,
    },
    c2pa && { name: 'provenance', title: 'Provenance', show: () => <Provenance report={c2pa} /> },
    policy && { name: 'policy', title: 'Policy', show: () => <Policy verdict={policy} id={id} /> },
    asksForTimeline(request) ? { name: 'timeline', title: 'Timeline', show: () => <Timeline id={id} /> } : null,
    { name: 'raw', title: 'Raw', show: () => <Raw answer={answer} /> },
  ];
  return tabs.filter((tab) => tab !== null);
}

export function Answer({ answer }: { answer: OpenAnswer }) {
  return <Tabs label="Answer" tabs={tabsOf(answer)} />;
}
