/** What an HLS presentation was declared to be, what was measured, and what the rules found. */
import type { HlsReport } from '../api/types.ts';
import { count, several } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { Table, type Column } from '../parts/table.tsx';

type Variant = HlsReport['variants'][number];
type Message = HlsReport['messages'][number];
type Playlist = HlsReport['playlists'][number];

const kilobits = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : `${count(Math.round(value / 1000))} kb/s`;

/** From the declared average to the declared peak as a bar; the measured peak as a mark, inside or beyond. */
function Rates({ variant, most }: { variant: Variant; most: number }) {
  const { bandwidth, average_bandwidth: average, measured } = variant;
  if (bandwidth === null) return <span class="unit">no BANDWIDTH</span>;
  const at = (value: number) => (value / most) * 240;
  const from = average ?? bandwidth * 0.98;
  const beyond = measured !== null && measured.peak > bandwidth;
  return (
    <svg class="rates" viewBox="0 0 248 16" width="248" height="16" role="img" aria-label={ratesOf(variant)}>
      <rect class="track" x="0" y="7" width="240" height="2" />
      <rect class="declared" x={at(from)} y="4" width={Math.max(2, at(bandwidth) - at(from))} height="8" />
      {measured && <rect class={beyond ? 'mark beyond' : 'mark'} x={at(measured.peak)} y="0" width="3" height="16" />}
    </svg>
  );
}

const ratesOf = ({ bandwidth, average_bandwidth: average, measured }: Variant): string =>
  `declared ${kilobits(average)} to ${kilobits(bandwidth)}, measured peak ${kilobits(measured?.peak)}`;

const variantColumns = (most: number): readonly Column<Variant>[] => [
  {
    title: 'Variant',
    show: ({ url, iframes }) => (
      <>
        <Stranger text={url} most={60} />
        {iframes && <span class="mark">I-frames</span>}
      </>
    ),
    text: ({ url }) => url,
  },
  {
    title: 'Picture',
    show: ({ resolution, frame_rate: rate }) => `${resolution ?? ''}${rate === null ? '' : ` ${rate} fps`}`,
    text: ({ resolution }) => resolution ?? '',
  },
  { title: 'Codecs', show: ({ codecs }) => <Stranger text={codecs ?? ''} />, text: ({ codecs }) => codecs ?? '' },
  {
    title: 'Average',
    show: (row) => kilobits(row.average_bandwidth),
    text: (row) => String(row.average_bandwidth ?? ''),
    right: true,
  },
  {
    title: 'Peak',
    show: ({ bandwidth }) => kilobits(bandwidth),
    text: ({ bandwidth }) => String(bandwidth),
    right: true,
  },
  {
    title: 'Measured peak',
    show: ({ bandwidth, measured }) => (
      <span class={measured && bandwidth !== null && measured.peak > bandwidth ? 'near' : undefined}>
        {kilobits(measured?.peak)}
        {measured && bandwidth !== null && measured.peak > bandwidth && ' (above)'}
      </span>
    ),
    text: ({ measured }) => String(measured?.peak ?? ''),
    right: true,
  },
  {
    title: 'Declared and measured',
    show: (variant) => <Rates variant={variant} most={most} />,
    text: ratesOf,
  },
];

const SIGNS = { 'must-fix': '✕', 'should-fix': '⚠', info: 'i' } as const;

/** The mean length of segments as a dot, against the target as a line. */
function Lengths({ playlist: { segments, duration, target_duration: target } }: { playlist: Playlist }) {
  if (segments === null || segments === 0 || duration === null || target === null) return <span class="unit">–</span>;
  const mean = duration / segments;
  const most = Math.max(target, mean) * 1.25;
  const at = (value: number) => (value / most) * 120;
  const text = `${mean.toFixed(2)} s on average, the target is ${target} s`;
  return (
    <span class="measured">
      <svg class="rates" viewBox="0 0 128 16" width="128" height="16" role="img" aria-label={text}>
        <rect class="track" x="0" y="7" width="120" height="2" />
        <rect class="mark" x={at(target)} y="0" width="2" height="16" />
        <circle class={mean > target ? 'beyond' : 'declared'} cx={at(mean)} cy="8" r="4" />
      </svg>
      {mean.toFixed(2)} <span class="unit">of {target} s</span>
    </span>
  );
}

const PLAYLISTS: readonly Column<Playlist>[] = [
  { title: 'Playlist', show: ({ url }) => <Stranger text={url} most={60} />, text: ({ url }) => url },
  { title: 'Role', show: ({ role }) => role, text: ({ role }) => role },
  { title: 'Lines', show: ({ lines }) => count(lines), text: ({ lines }) => String(lines), right: true },
  {
    title: 'Segments',
    show: ({ segments }) => (segments === null ? '–' : count(segments)),
    text: ({ segments }) => String(segments ?? ''),
    right: true,
  },
  {
    title: 'Length of segments',
    show: (playlist) => <Lengths playlist={playlist} />,
    text: ({ segments, duration }) => (segments && duration !== null ? String(duration / segments) : ''),
  },
  {
    title: 'Findings',
    show: ({ findings }) => findings.must_fix + findings.should_fix + findings.info,
    text: ({ findings }) => String(findings.must_fix + findings.should_fix + findings.info),
    right: true,
  },
];

const messageColumns = (idOf: (url: string) => string | undefined): readonly Column<Message>[] => [
  {
    title: 'Level',
    show: ({ level }) => (
      <span class={`status ${level === 'must-fix' ? 'bad' : level === 'should-fix' ? 'warn' : 'none'}`}>
        <span aria-hidden="true">{SIGNS[level]}</span> {level}
      </span>
    ),
    text: ({ level }) => level,
  },
  { title: 'Finding', show: ({ message }) => <Stranger text={message} />, text: ({ message }) => message },
  { title: 'Rule', show: ({ code, rule }) => `${code} (${rule})`, text: ({ code }) => code },
  {
    title: 'Playlist',
    show: ({ url }) => {
      const id = idOf(url);
      const text = <Stranger text={url} most={60} />;
      return id === undefined ? text : <a href={`#${id}`}>{text}</a>;
    },
    text: ({ url }) => url,
  },
  { title: 'Line', show: ({ line }) => line, text: ({ line }) => String(line), right: true },
];

export function Ladder({ report }: { report: HlsReport }) {
  const { variants, messages, summary, playlists } = report;
  const places = new Map(playlists.map(({ url }, index) => [url, `playlist-${index}`]));
  const idOf = (url: string): string | undefined => places.get(url);
  const rates = variants.flatMap(({ bandwidth, measured }) => [bandwidth ?? 0, measured?.peak ?? 0]);
  return (
    <>
      <p class="lead">
        {several(summary.variants, 'variant')}, {several(summary.segments, 'segment')}
        {summary.live ? ', live' : `, ${summary.duration.toFixed(1)} s`}. {summary.must_fix} must-fix,{' '}
        {summary.should_fix} should-fix, {summary.info} info.
      </p>
      {variants.length > 0 && (
        <Table
          caption="Variants"
          columns={variantColumns(Math.max(1, ...rates))}
          rows={variants}
          keyOf={({ line, url }) => `${line} ${url}`}
        />
      )}
      {messages.length === 0 ? (
        <Empty title="No rule found anything">
          <p>{count(summary.segments_measured)} segments were measured.</p>
        </Empty>
      ) : (
        <Table
          caption="Findings"
          columns={messageColumns(idOf)}
          rows={messages}
          keyOf={({ code, url, line, message }) => `${code} ${url} ${line} ${message}`}
        />
      )}
      {playlists.length > 0 && (
        <Table
          caption="Playlists"
          columns={PLAYLISTS}
          rows={playlists}
          keyOf={({ url }) => url}
          idOf={({ url }) => idOf(url)}
        />
      )}
      {summary.untold > 0 && <p>{count(summary.untold)} further findings are not listed.</p>}
    </>
  );
}
