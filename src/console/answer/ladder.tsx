/** What an HLS presentation was declared to be, what was measured, and what the rules found. */
import { useMemo } from 'preact/hooks';
import type { HlsReport } from '../../api_types.ts';
import { Chart } from '../parts/chart.tsx';
import type { ChartData } from '../parts/chart_data.ts';
import { amountColumn, countColumn, statusColumn, strangerColumn, Table, type Column } from '../parts/table.tsx';
import { bitRate, count, kilobits, several } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { Below, Stranger } from '../parts/values.tsx';
import { visible } from '../../base/visible.ts';
import { goWith, hrefWith, usePlace } from '../router.ts';
import { durationsOf, durationsSaid } from './durations.tsx';
import { ShownPlaylist } from './playlist.tsx';

type Variant = HlsReport['variants'][number];
type Message = HlsReport['messages'][number];
type Playlist = HlsReport['playlists'][number];
type Listed = Playlist & { index: number };

/** What each variant declares beside what was measured of it. */
const ratesOf = (variants: readonly Variant[]): ChartData => ({
  x: [...variants.keys()],
  series: [
    { label: 'Declared peak', values: variants.map(({ bandwidth }) => bandwidth), color: 'series-1', as: 'left' },
    {
      label: 'Measured peak',
      values: variants.map(({ measured }) => measured?.peak ?? null),
      color: 'series-2',
      as: 'right',
    },
    { label: 'Declared average', values: variants.map((row) => row.average_bandwidth), color: 'text', as: 'dots' },
  ],
});

function nameOf({ resolution, url }: Variant): string {
  const height = resolution?.split('x')[1];
  return height === undefined ? visible(url).split('/').at(-1)!.slice(0, 12) : `${height}p`;
}

function Rates({ variants }: { variants: readonly Variant[] }) {
  const data = useMemo(() => ratesOf(variants), [variants]);
  return (
    <Chart
      label="Declared and measured bit rates"
      data={data}
      xText={(index) => (variants[index] ? nameOf(variants[index]) : '')}
      whole
      yText={kilobits}
      view={{ from: -0.6, to: variants.length - 0.4 }}
    />
  );
}

const VARIANTS: readonly Column<Variant>[] = [
  strangerColumn('Variant', ({ url }) => url, { most: 60, mark: ({ iframes }) => iframes && 'I-frames' }),
  {
    title: 'Picture',
    show: ({ resolution, frame_rate: rate }) => `${resolution ?? ''}${rate === null ? '' : ` ${rate} fps`}`,
    text: ({ resolution }) => resolution ?? '',
  },
  strangerColumn('Codecs', ({ codecs }) => codecs ?? ''),
  amountColumn('Average', (row) => row.average_bandwidth ?? undefined, bitRate),
  amountColumn('Peak', ({ bandwidth }) => bandwidth ?? undefined, bitRate),
  {
    title: 'Measured peak',
    show: ({ bandwidth, measured }) => (
      <span class={measured && bandwidth !== null && measured.peak > bandwidth ? 'near' : undefined}>
        {measured ? kilobits(measured.peak) : '–'}
        {measured && bandwidth !== null && measured.peak > bandwidth && ' (above)'}
      </span>
    ),
    text: ({ measured }) => String(measured?.peak ?? ''),
    right: true,
  },
];

/** Its place in the report stands in the address. */
const placeOf = (playlist: number, line: number | null): Record<string, string | null> => ({
  playlist: String(playlist),
  line: line === null ? null : String(line),
});

const playlistColumns = (shown: number): readonly Column<Listed>[] => [
  strangerColumn('Playlist', ({ url }) => url, {
    most: 60,
    to: ({ index }) => hrefWith(placeOf(index, null)),
    mark: ({ index }) => index === shown && 'shown below',
  }),
  { title: 'Role', text: ({ role }) => role },
  countColumn('Lines', ({ lines }) => lines),
  countColumn('Segments', ({ segments }) => segments ?? undefined, { none: '–' }),
  {
    title: 'Segment durations',
    text: (playlist) => {
      const durations = durationsOf(playlist);
      return durations ? durationsSaid(durations) : '–';
    },
  },
  {
    title: 'Findings',
    text: ({ findings }) => String(findings.must_fix + findings.should_fix + findings.info),
    right: true,
  },
];

const messageColumns = (indexOf: (url: string) => number): readonly Column<Message>[] => [
  statusColumn('Level', ({ level }) => level),
  {
    title: 'Finding, and what to do',
    show: ({ message, remedy }) => (
      <>
        <Stranger text={message} />
        <Below text={remedy} />
      </>
    ),
    text: ({ message, remedy = '' }) => `${message}. ${remedy}`.trim(),
  },
  { title: 'Rule', show: ({ code, rule }) => `${code} (${rule})`, text: ({ code }) => code },
  {
    title: 'Where',
    show: ({ url, line }) => {
      const index = indexOf(url);
      const text = (
        <>
          Line {line} of <Stranger text={url} most={60} />
        </>
      );
      return index === -1 ? text : <a href={hrefWith(placeOf(index, line))}>{text}</a>;
    },
    text: ({ url, line }) => `${url}:${line}`,
  },
];

/** The one of the address; else the worst one, where that can be told, else the first one with segments. */
function shownOf(playlists: readonly Playlist[], query: URLSearchParams): number {
  const wanted = Number(query.get('playlist') ?? Number.NaN);
  if (Number.isInteger(wanted) && wanted >= 0 && wanted < playlists.length) return wanted;
  const worst = playlists.findIndex(({ findings, segments }) => findings.must_fix > 0 && segments !== null);
  return Math.max(0, worst === -1 ? playlists.findIndex(({ segments }) => segments !== null) : worst);
}

interface LadderProps {
  report: HlsReport;
  /** Of the playground, to ask for the lines of the playlists. */
  again: string;
}

export function Ladder({ report, again }: LadderProps) {
  const { query } = usePlace();
  const { variants, messages, summary, playlists } = report;
  const shown = shownOf(playlists, query);
  const playlist = playlists[shown];
  const line = Number(query.get('line') ?? 0);
  const show = (to: number): void => goWith(placeOf(shown, to));
  return (
    <>
      <p class="lead">
        {several(summary.variants, 'variant')}, {several(summary.segments, 'segment')}
        {summary.live ? ', live' : `, ${summary.duration.toFixed(1)} s`}. {summary.must_fix} must-fix,{' '}
        {summary.should_fix} should-fix, {summary.info} info.
      </p>
      {variants.length > 0 && (
        <>
          <Rates variants={variants} />
          <Table
            caption="Variants"
            columns={VARIANTS}
            rows={variants}
            keyOf={({ line: own, url }) => `${own} ${url}`}
          />
        </>
      )}
      {messages.length === 0 ? (
        <Empty title="No rule found anything">
          <p>{count(summary.segments_measured)} segments were measured.</p>
        </Empty>
      ) : (
        <Table
          caption="Findings"
          columns={messageColumns((url) => playlists.findIndex((one) => one.url === url))}
          rows={messages}
          keyOf={({ code, url, line: own, message }) => `${code} ${url} ${own} ${message}`}
        />
      )}
      {summary.untold > 0 && <p>{count(summary.untold)} further findings are not listed.</p>}
      {playlists.length > 0 && (
        <Table
          caption="Playlists"
          columns={playlistColumns(shown)}
          rows={playlists.map((one, index) => ({ ...one, index }))}
          keyOf={({ index }) => index}
        />
      )}
      {playlist && (
        <ShownPlaylist
          key={shown}
          playlist={playlist}
          findings={messages.filter(({ url }) => url === playlist.url)}
          at={Number.isInteger(line) && line > 0 ? line : null}
          show={show}
          again={again}
        />
      )}
    </>
  );
}
