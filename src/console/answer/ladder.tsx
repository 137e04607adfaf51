/** What an HLS presentation was declared to be, what was measured, and what the rules found. */
import { useMemo, useEffect, useRef, useState } from 'preact/hooks';
import type { HlsReport } from '../../api_types.ts';
import { findingsTable, hlsLead, playlistsTable, unlisted, variantsTable } from '../../media/answer/hls.ts';
import {
  type Durations,
  durationsOf,
  durationsSaid,
  isLongAt,
  longOf,
  seconds,
} from '../../media/answer/segment_durations.ts';
import { Chart, ChartTable, onKeys } from '../parts/chart.tsx';
import type { ChartData, Series } from '../parts/chart_data.ts';
import { Parts } from '../parts/table.tsx';
import { count, kilobits, several } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { Stranger, Status } from '../parts/values.tsx';
import { visible } from '../../base/visible.ts';
import { goWith, hrefWith, usePlace } from '../router.ts';
import { AnswerParts } from './section.tsx';

type Variant = HlsReport['variants'][number];
type Message = HlsReport['messages'][number];
type Playlist = HlsReport['playlists'][number];

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

/** Its place in the report stands in the address. */
const placeOf = (playlist: number, line: number | null): Record<string, string | null> => ({
  playlist: String(playlist),
  line: line === null ? null : String(line),
});

/** The one of the address; else the worst one, where that can be told, else the first one with segments. */
function shownOf(playlists: readonly Playlist[], query: URLSearchParams): number {
  const wanted = Number(query.get('playlist') ?? Number.NaN);
  if (Number.isInteger(wanted) && wanted >= 0 && wanted < playlists.length) return wanted;
  const worst = playlists.findIndex(({ findings, segments }) => findings.must_fix > 0 && segments !== null);
  return Math.max(0, worst === -1 ? playlists.findIndex(({ segments }) => segments !== null) : worst);
}

export function Ladder({ report, linkForLines }: { report: HlsReport; linkForLines: string }) {
  const { query } = usePlace();
  const { variants, messages, playlists } = report;
  const rates = useMemo(() => ratesOf(variants), [variants]);
  const shown = shownOf(playlists, query);
  const playlist = playlists[shown];
  const line = Number(query.get('line') ?? 0);
  const show = (to: number): void => goWith(placeOf(shown, to));
  const linkTo = (message: Message): string | undefined => {
    const index = playlists.findIndex(({ url }) => url === message.url);
    return index === -1 ? undefined : hrefWith(placeOf(index, message.line));
  };
  return (
    <>
      <AnswerParts parts={[hlsLead(report)]} />
      {variants.length > 0 && (
        <Chart
          label="Declared and measured bit rates"
          data={rates}
          xText={(index) => (variants[index] ? nameOf(variants[index]) : '')}
          whole
          yText={kilobits}
          view={{ from: -0.6, to: variants.length - 0.4 }}
        />
      )}
      <AnswerParts
        parts={[
          variantsTable(report),
          findingsTable(report, linkTo),
          unlisted(report),
          playlistsTable(report, { at: shown, placeOf: (at) => hrefWith(placeOf(at, null)) }),
        ]}
      />
      {playlist && (
        <ShownPlaylist
          key={shown}
          playlist={playlist}
          findings={messages.filter(({ url }) => url === playlist.url)}
          at={Number.isInteger(line) && line > 0 ? line : null}
          show={show}
          linkForLines={linkForLines}
        />
      )}
    </>
  );
}

// One playlist of a ladder: its segments against the target, and its lines with the findings that name them.

/** Drawn at once: a browser draws this many in a moment. */
const MOST_DRAWN = 500;

const isSegmentLine = (line: string): boolean => line.trim() !== '' && !line.trimStart().startsWith('#');

/** The line of a segment's address, from 1; null: it is not among those that are here. */
function lineOfSegment(lines: readonly string[], index: number): number | null {
  let segment = -1;
  const found = lines.findIndex((line) => isSegmentLine(line) && ++segment === index);
  return found === -1 ? null : found + 1;
}

function PlaylistLines({ playlist, findings, at, show }: Omit<ShownPlaylistProps, 'linkForLines'>) {
  const { lines, left_out: leftOut } = playlist.text!;
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    row.current?.scrollIntoView({ block: 'center' });
    row.current?.focus({ preventScroll: true });
  }, [playlist.url, at]);
  const part = Math.floor((Math.min(at ?? 1, lines.length) - 1) / MOST_DRAWN);
  const from = part * MOST_DRAWN;
  const choose = (to: number): void => show(to * MOST_DRAWN + 1);
  const byLine = Map.groupBy(findings, ({ line }) => line);
  return (
    <>
      <Parts what="Lines" total={lines.length} most={MOST_DRAWN} part={part} choose={choose} />
      <div class="scroll lines" role="region" aria-label="Lines of the playlist" tabIndex={0}>
        <table>
          <caption class="unseen">Lines of the playlist</caption>
          <thead>
            <tr>
              <th scope="col" class="right">
                Line
              </th>
              <th scope="col">Text and findings</th>
            </tr>
          </thead>
          <tbody>
            {lines.slice(from, from + MOST_DRAWN).map((text, index) => {
              const line = from + index + 1;
              const own = byLine.get(line) ?? [];
              return (
                <tr key={line} ref={line === at ? row : null} class={line === at ? 'at' : undefined} tabIndex={-1}>
                  <th scope="row" class="right">
                    {line}
                  </th>
                  <td>
                    <code>
                      <Stranger text={text} />
                    </code>
                    {own.length > 0 && (
                      <ul class="also">
                        {own.map(({ level, code, message, remedy = '' }) => (
                          <li key={`${code} ${message}`}>
                            <Status of={level} /> <Stranger text={message} /> <span class="unit">{code}</span>{' '}
                            {remedy !== '' && <Stranger text={remedy} />}
                          </li>
                        ))}
                      </ul>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {leftOut > 0 && <p class="unit">{several(leftOut, 'further line')} are not in the report.</p>}
    </>
  );
}

interface ShownPlaylistProps {
  playlist: Playlist;
  findings: readonly Message[];
  /** A line that is looked for, from 1. */
  at: number | null;
  show: (line: number) => void;
  linkForLines: string;
}

function ShownPlaylist({ playlist, findings, at, show, linkForLines }: ShownPlaylistProps) {
  const durations = durationsOf(playlist);
  // Reports on record from before the lines were in them have none.
  const lines = playlist.text?.lines ?? [];
  const goToSegment = (index: number): void => {
    const line = lineOfSegment(lines, index);
    if (line !== null) show(line);
  };
  return (
    <section class="playlist">
      <h2>
        Playlist <Stranger text={playlist.url} most={120} />
      </h2>
      {durations && (
        <>
          <p>{durationsSaid(durations)}.</p>
          <DurationsFigure durations={durations} goToSegment={lines.length > 0 ? goToSegment : null} />
        </>
      )}
      {lines.length === 0 ? (
        <Empty title="The lines of the playlist are not in this report">
          <p>
            They are sent on request, by <code>enable_playlist_text</code>.{' '}
            <a href={linkForLines}>Read again with the lines</a>
          </p>
        </Empty>
      ) : (
        <>
          {at !== null && at > lines.length && (
            <p role="status">
              Line {count(at)} is not in the report: it has the first {count(lines.length)}.
            </p>
          )}
          <PlaylistLines playlist={playlist} findings={findings} at={at} show={show} />
        </>
      )}
    </section>
  );
}

// Segment durations of a playlist against its target, as a chart with a cursor.

/** Declared and measured durations over the target; those that are too long in a series of their own. */
function dataOf(durations: Durations): ChartData {
  const { declared, target, measured } = durations;
  const only = (wanted: boolean): (number | null)[] =>
    declared.map((value, index) => (isLongAt(index, durations) === wanted ? value : null));
  const series: (Series | false)[] = [
    { label: 'Declared', values: only(false), color: 'series-1', as: 'dots' },
    { label: 'Too long', values: only(true), color: 'bad', as: 'bars' },
    measured.size > 0 && {
      label: 'Measured',
      values: declared.map((_, index) => measured.get(index) ?? null),
      color: 'series-2',
      as: 'dots',
    },
    target !== null && { label: 'Target', values: declared.map(() => target), color: 'text', as: 'line' },
  ];
  return { x: [...declared.keys()], series: series.filter((one) => one !== false) };
}

const LABEL = 'Durations of segments';
const numberOf = (index: number): string => count(index + 1);

function said(index: number, durations: Durations): string {
  const measured = durations.measured.get(index);
  return [
    `segment ${count(index + 1)} of ${count(durations.declared.length)}: ${seconds(durations.declared[index]!)}`,
    ...(measured === undefined ? [] : [`measured ${seconds(measured)}`]),
    ...(isLongAt(index, durations) ? [`too long for the target of ${durations.target} s`] : []),
  ].join(', ');
}

interface DurationsFigureProps {
  durations: Durations;
  /** Null: the lines of the playlist are not in the report. */
  goToSegment: ((index: number) => void) | null;
}

function DurationsFigure({ durations, goToSegment }: DurationsFigureProps) {
  const [chosen, setAt] = useState(0);
  const last = durations.declared.length - 1;
  const at = Math.min(chosen, last);
  const data = useMemo(() => dataOf(durations), [durations.declared]);
  const view = { from: -0.5, to: last + 0.5 };
  const long = longOf(durations);
  const move = (to: number): void => setAt(Math.min(last, Math.max(0, to)));
  const press = onKeys({
    ArrowLeft: () => move(at - 1),
    ArrowRight: () => move(at + 1),
    PageUp: () => move(at - 10),
    PageDown: () => move(at + 10),
    Home: () => move(0),
    End: () => move(last),
    ...(goToSegment && { Enter: () => goToSegment(at) }),
  });
  return (
    <>
      <div
        class="figure"
        role="slider"
        tabIndex={0}
        aria-label="Segment"
        aria-valuemin={1}
        aria-valuemax={last + 1}
        aria-valuenow={at + 1}
        aria-valuetext={said(at, durations)}
        onKeyDown={press}
      >
        <Chart
          label={LABEL}
          data={data}
          height={160}
          xText={numberOf}
          whole
          yText={seconds}
          view={view}
          at={at}
          move={(to) => move(Math.round(to))}
        />
      </div>
      <ChartTable label={LABEL} data={data} xText={numberOf} yText={seconds} />
      <p class="moment">{said(at, durations)}</p>
      <p class="actions">
        {goToSegment && (
          <button type="button" class="small" onClick={() => goToSegment(at)}>
            Go to its line
          </button>
        )}
        {long.length > 0 && (
          <button type="button" class="small" onClick={() => move(long.find((index) => index > at) ?? long[0]!)}>
            Next that is too long
          </button>
        )}
      </p>
      <p class="help">
        Declared: EXTINF of each segment{durations.leftOut > 0 && ` (the first ${count(last + 1)})`}. Keys: arrows and
        Page keys move
        {goToSegment && ', Enter goes to the line'}.
      </p>
    </>
  );
}
