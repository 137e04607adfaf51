/** What was found, in sections of the page: of a file, of its streams over time, of an HLS presentation. */
import { bitRate, several } from '../../../base/scaled.ts';
import { exceeds } from '../../../media/hls/exceeds.ts';
import type { HlsReport, VariantReport } from '../../../media/hls/schema.ts';
import type { StreamTimeline, Timeline } from '../../../media/timeline/schema.ts';
import {
  type Content,
  furtherOnes,
  html,
  type Markup,
  quiet,
  section,
  stranger,
  table,
  status,
  told,
  facts,
} from './html.ts';
import { waivedWords } from '../../../base/waived.ts';
import { placeOf, policyName } from '../../../media/ci_formats/policy_rules.ts';
import type { Comparison } from '../../../media/compare/schema.ts';
import type { PolicyResult, RuleResult } from '../../../media/policy/schema.ts';
import { bytesIn, waveformPath } from '../../../media/qc/drawn.ts';
import type { QcPictures } from '../../../media/qc/pictures_schema.ts';
import type { QcReport } from '../../../media/qc/schema.ts';
import type { QcWaived } from '../../../media/qc/waived.ts';
import { fileWords, LEVELS, passagesIn, remarksIn, remarkWords, secondsWords } from '../../../media/qc/words.ts';
import type { Difference, ProbeReport } from '../../../media/report/schema.ts';
import { codecWords, streamWords } from '../../../media/answer/file_words.ts';
import type { C2paReport } from '../../../media/tools/c2pa_schema.ts';

// What was found in a file: tracks, disagreements, policy, provenance, a comparison.

/** Some decode errors are told with what the decoder said. */
const LONGEST_REMARK = 800;

const percent = (share: number): string => `${Math.round(share * 100)} %`;

export const tracks = ({ container, streams, warnings }: ProbeReport): Content =>
  section(
    'Tracks',
    table('Tracks', streams, [
      { title: '#', cell: ({ index }) => index, right: true },
      { title: 'Type', cell: ({ type, attached_picture: cover }) => (cover ? 'cover' : stranger(type)) },
      { title: 'Codec', cell: (stream) => stranger(codecWords(stream)) },
      { title: 'Details', cell: (stream) => stranger(streamWords(stream)) },
      { title: 'Duration', cell: ({ duration }) => (duration === undefined ? null : `${duration} s`), right: true },
    ]),
    facts([
      ['Title', stranger(container.title)],
      ['Written by', stranger(container.encoder)],
      ['Brand', stranger(container.brand)],
      ['Time code', stranger(container.timecode)],
      ['Chapters', container.chapters?.length],
    ]),
    table('Warnings', warnings, [
      { title: 'Warning', cell: ({ message }) => told('warn', stranger(message)) },
      { title: 'Code', cell: ({ code }) => stranger(code) },
      { title: 'About', cell: ({ path }) => stranger(path) },
    ]),
  );

const WITNESSES = ['ffprobe', 'mediainfo', 'bitstream'] as const;
type Witness = (typeof WITNESSES)[number];

/** Of the pictures, nothing that is absent is denied. */
function saidBy(witness: Witness, row: Difference): Content {
  const value = stranger(row[witness], 120) ?? (witness === 'bitstream' ? null : quiet('does not see it'));
  return row.chosen === witness ? html`<b>${told('good', value)}</b> <span class="unseen">(chosen)</span>` : value;
}

function sure({ chosen, confidence }: Difference): string {
  if (chosen === null) return 'not known';
  return confidence === undefined ? 'not measured' : percent(confidence);
}

export function disagreements({ diff = [] }: ProbeReport): Content {
  if (diff.length === 0) return null;
  const witnesses = WITNESSES.filter((one) => one !== 'bitstream' || diff.some((row) => row[one] !== undefined));
  return section(
    'Disagreements',
    table('Fields on which the tools disagree', diff, [
      { title: 'Field', cell: ({ path }) => html`<code>${stranger(path)}</code>` },
      ...witnesses.map((title) => ({ title, cell: (row: Difference) => saidBy(title, row) })),
      { title: 'Sure', cell: sure },
      { title: 'Why', cell: ({ reason }) => stranger(reason) },
    ]),
  );
}

function found({ actual, from, confidence, also = [], more }: RuleResult): Content {
  if (actual === undefined && also.length === 0) return null;
  const origin = [from, confidence === undefined ? undefined : `${percent(confidence)} sure`].filter(Boolean);
  const others = also.map((one) => html`<br />${quiet(stranger(one.stream))} ${stranger(one.actual, 80)}`);
  return [
    stranger(actual, 120),
    ' ',
    quiet(stranger(origin.join(', '))),
    others,
    more !== undefined && html`<br />${quiet(several(more, 'further stream'))}`,
  ];
}

const WORST_FIRST: readonly string[] = ['fail', 'unknown', 'warn', 'waived', 'pass', 'not-applicable'];

export const policy = (verdict: PolicyResult): Content =>
  section(
    'Policy',
    html`<p>${status(verdict.outcome)}: ${stranger(policyName(verdict))}</p>`,
    table(
      'Rules',
      verdict.rules.toSorted((a, b) => WORST_FIRST.indexOf(a.outcome) - WORST_FIRST.indexOf(b.outcome)),
      [
        { title: 'Outcome', cell: ({ outcome }) => status(outcome) },
        { title: 'Rule', cell: ({ name, level }) => [stranger(name, 100), level === 'warn' && quiet(' (warns)')] },
        { title: 'Where', cell: (rule) => stranger(placeOf(rule)) },
        { title: 'Found', cell: found },
        { title: 'Wanted', cell: ({ expected }) => stranger(expected, 120) },
        {
          title: 'In words',
          cell: ({ message, waived }) => [stranger(message), waived && [' ', quiet(stranger(waivedWords(waived)))]],
        },
      ],
    ),
  );

const CHECKS = [
  ['failed', 'failure'],
  ['remark', 'informational'],
  ['passed', 'success'],
] as const;

export function provenance({ active_manifest: active, manifests, validation_results: results }: C2paReport): Content {
  if (active === null) return null;
  const { title, claim_generator: generator, signature_info: signature } = manifests[active]!;
  const checks = CHECKS.flatMap(([outcome, member]) =>
    (results?.activeManifest?.[member] ?? []).map((check) => ({ ...check, outcome })),
  );
  return section(
    'Provenance (C2PA)',
    facts([
      ['Title', stranger(title)],
      ['Made with', stranger(generator)],
      ['Signed by', stranger(signature?.issuer)],
      ['Certificate of', stranger(signature?.common_name)],
      ['Time', stranger(signature?.time)],
    ]),
    table('Checks', checks, [
      { title: 'Outcome', cell: ({ outcome }) => status(outcome) },
      { title: 'Check', cell: ({ code }) => stranger(code) },
      { title: 'In words', cell: ({ explanation }) => stranger(explanation) },
    ]),
  );
}

export function contentChecks(report: QcReport): Content {
  const { video, audio, cut, until = null, not_checked: left } = report;
  const rows = passagesIn(report).flatMap(({ noun, stream, list }) => list.map((row) => ({ ...row, noun, stream })));
  const file = fileWords(report.file);
  const unlisted = passagesIn(report).reduce((sum, { more }) => sum + more, 0);
  return section(
    'Content checks',
    html`<p>${several(video.length + audio.length, 'stream')} decoded.</p>`,
    file !== undefined && html`<p>The file: ${stranger(file, LONGEST_REMARK)}.</p>`,
    cut !== undefined && html`<p>Cut short at ${secondsWords(until)}: ${stranger(cut)}</p>`,
    table('Findings', rows, [
      { title: 'Finding', cell: ({ noun }) => noun },
      { title: 'Stream', cell: ({ stream }) => stream, right: true },
      { title: 'From', cell: ({ from }) => secondsWords(from), right: true },
      { title: 'To', cell: ({ to, to_end: last }) => [secondsWords(to), last && quiet(' (the end)')], right: true },
      { title: 'More', cell: ({ detail }) => detail ?? '' },
    ]),
    unlisted > 0 && html`<p>Not in the result: ${several(unlisted, 'further finding')}.</p>`,
    remarksIn(report).map(
      (remark) => html`<p>${told(remark.blocks ? 'bad' : 'warn', stranger(remarkWords(remark), LONGEST_REMARK))}</p>`,
    ),
    table('Sound', audio, [
      { title: 'Stream', cell: ({ stream }) => stream, right: true },
      ...LEVELS.map(({ title, text }) => ({ title, cell: text, right: true as const })),
    ]),
    left.map(({ stream, why }) => html`<p>Stream ${stream} was not checked: ${stranger(why)}</p>`),
  );
}

const [WAVE_WIDTH, WAVE_HEIGHT] = [720, 48];

export const pictures = ({ video, audio }: QcPictures): Content =>
  section(
    'Pictures',
    video &&
      html`<div class="strip">
        ${video.list.map(
          ({ at, jpeg }) =>
            html`<figure>
              <img src="data:image/jpeg;base64,${jpeg}" width="${video.width}" height="${video.height}" alt="" />
              <figcaption>${secondsWords(at)}</figcaption>
            </figure>`,
        )}
      </div>`,
    audio.map(({ stream, step, peaks }) => {
      const values = bytesIn(peaks);
      const words = `Sound of stream ${stream}, ${secondsWords(values.length * step)}`;
      return html`<figure>
        <figcaption>${words}</figcaption>
        <svg viewBox="0 0 ${WAVE_WIDTH} ${WAVE_HEIGHT}" role="img" aria-label="${words}">
          <path class="area" d="${waveformPath(values, WAVE_WIDTH, WAVE_HEIGHT)}" />
        </svg>
      </figure>`;
    }),
  );

export const waivedFindings = (findings: readonly QcWaived[]): Content =>
  findings.length > 0 &&
  section(
    'Waived findings',
    table('Findings of content checks that somebody accepts', findings, [
      { title: 'Check', cell: ({ check }) => check },
      { title: 'Stream', cell: ({ stream }) => stream, right: true },
      { title: 'From', cell: ({ from }) => from !== null && secondsWords(from), right: true },
      { title: 'To', cell: ({ to }) => to !== null && secondsWords(to), right: true },
      { title: 'Why', cell: ({ waived }) => stranger(waivedWords(waived)) },
    ]),
  );

export const comparison = ({ fields, summary }: Comparison): Content =>
  section(
    'Comparison',
    table('Fields that change', fields, [
      { title: 'Tool', cell: ({ tool }) => stranger(tool) },
      { title: 'Field', cell: ({ path, to }) => [stranger(path), to !== undefined && [' → ', stranger(to)]] },
      { title: 'Change', cell: ({ change, known }) => [stranger(change), known && quiet(' (intended)')] },
      {
        title: 'Values',
        cell: ({ values }) =>
          Object.entries(values).map(
            ([run, value]) => html`<div>${quiet(stranger(run))} ${stranger(value, 100)}</div>`,
          ),
      },
    ]),
    summary.not_compared.map(({ tool, run, why }) => html`<p>${stranger(`${tool} ${run}`)}: ${stranger(why)}</p>`),
  );

// Findings of the HLS validator with their remedies, and the timeline of each stream as a drawing.

const peak = (value: number | null | undefined): Content => value !== null && value !== undefined && bitRate(value);
const seconds = (value: number | null): Content => (value === null ? null : `${Math.round(value * 10) / 10} s`);

const measuredPeak = ({ bandwidth, measured }: VariantReport): Content =>
  measured && bandwidth !== null && exceeds(measured.peak, bandwidth)
    ? told('bad', `${bitRate(measured.peak)}, above what is declared`)
    : peak(measured?.peak);

export const hls = ({ summary, variants, messages, playlists }: HlsReport): Content =>
  section(
    'HLS',
    html`<p>
      ${several(summary.variants, 'variant')}, ${several(summary.segments, 'segment')} (${summary.segments_measured}
      measured), ${summary.live ? 'live' : seconds(summary.duration)}.
    </p>`,
    table('Findings', messages, [
      { title: 'Level', cell: ({ level }) => status(level) },
      {
        title: 'Finding, and what to do',
        cell: ({ message, remedy, count = 1 }) => [
          stranger(message),
          count > 1 && quiet(` ${count} times in this playlist`),
          html`<p class="remedy">${stranger(remedy)}</p>`,
        ],
      },
      { title: 'Rule', cell: ({ code, rule }) => [html`<code>${stranger(code)}</code> `, stranger(rule)] },
      { title: 'Where', cell: ({ url, line }) => [`line ${line} of `, stranger(url)] },
    ]),
    summary.untold > 0 && html`<p>${several(summary.untold, 'further finding')} are not in the result.</p>`,
    table('Variants', variants, [
      { title: 'Variant', cell: ({ url }) => stranger(url) },
      { title: 'Picture', cell: ({ resolution }) => stranger(resolution) },
      { title: 'Codecs', cell: ({ codecs }) => stranger(codecs) },
      { title: 'Declared peak', cell: ({ bandwidth }) => peak(bandwidth), right: true },
      { title: 'Measured peak', cell: measuredPeak, right: true },
    ]),
    table('Playlists', playlists, [
      { title: 'Playlist', cell: ({ url }) => stranger(url) },
      { title: 'Role', cell: ({ role }) => stranger(role) },
      { title: 'Segments', cell: ({ segments }) => segments, right: true },
      { title: 'Target', cell: ({ target_duration: target }) => seconds(target), right: true },
      { title: 'Duration', cell: ({ duration }) => seconds(duration), right: true },
    ]),
  );

const MOST_STREAMS = 16;
/** What a page can show, and print. */
const LANE = { width: 720, height: 56, ticks: 6 };
const MOST_POINTS = 360;

interface Axis {
  from: number;
  to: number;
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
const across = (at: number, { from, to }: Axis): number =>
  rounded(Math.min(1, Math.max(0, (at - from) / (to - from))) * LANE.width);

/** Several columns in a point: the highest one counts, so that no peak is lost. */
export function outline({ bits, first, step }: StreamTimeline, axis: Axis): string {
  const each = Math.max(1, Math.ceil(bits.length / MOST_POINTS));
  const highest = Math.max(1, ...bits);
  const parts = [`M${across(first, axis)} ${LANE.height}`];
  for (let at = 0; at < bits.length; at += each) {
    const top = rounded(LANE.height * (1 - Math.max(...bits.slice(at, at + each)) / highest));
    parts.push(`V${top}H${across(first + Math.min(bits.length, at + each) * step, axis)}`);
  }
  return `${parts.join('')}V${LANE.height}Z`;
}

/** Places that are too close for the eye are one. */
const apart = (times: readonly number[], axis: Axis): number[] => [
  ...new Set(times.map((at) => Math.round(across(at, axis) / 2) * 2)),
];

function laneWords(stream: StreamTimeline): string {
  const { packets, bytes, start, end, bits, step, keys, gops, gaps, jumps, untimed } = stream;
  const length = start === null || end === null ? 0 : end - start;
  return [
    several(packets, 'packet'),
    length > 0 && `${bitRate(Math.round((bytes * 8) / length))} on average`,
    bits.length > 0 && `${bitRate(Math.round(Math.max(...bits) / step))} at most`,
    keys.every ? 'every packet is a key frame' : keys.count > 0 && several(keys.count, 'key frame'),
    gops && `${gops.min.toFixed(2)} to ${gops.max.toFixed(2)} s apart`,
    gaps.count > 0 && several(gaps.count, 'gap'),
    jumps.count > 0 && `${several(jumps.count, 'jump')} back`,
    untimed > 0 && `${several(untimed, 'packet')} without a time`,
  ]
    .filter(Boolean)
    .join(', ');
}

function lane(stream: StreamTimeline, axis: Axis): Markup {
  const { index, type, codec, gaps, keys, jumps } = stream;
  const { width, height, ticks } = LANE;
  const words = laneWords(stream);
  const gap = ([at, length]: readonly [number, number]): Markup => {
    const [from, to] = [across(at, axis), across(at + length, axis)];
    return html`<rect class="gap" x="${from}" y="0" width="${Math.max(2, rounded(to - from))}" height="${height}" />`;
  };
  const key = (x: number) => html`<rect class="key" x="${x}" y="${height}" width="1" height="${ticks}" />`;
  const jump = (x: number) => html`<path class="jump" d="M${x - 5} 0h10l-5 9z" />`;
  const jumpTimes = jumps.list.map(([at]) => at);
  return html`<figure>
    <figcaption><b>${index}: ${stranger(type ?? 'unknown')}</b> ${stranger(codec)} ${quiet(words)}</figcaption>
    <svg viewBox="0 0 ${width} ${height + ticks}" role="img" aria-label="Bit rate of stream ${index}: ${words}">
      <rect class="ground" x="0" y="0" width="${width}" height="${height}" />
      ${gaps.list.map(gap)}
      <path class="area" d="${outline(stream, axis)}" />
      ${apart(keys.times, axis).map(key)} ${apart(jumpTimes, axis).map(jump)}
    </svg>
  </figure>`;
}

/** Of all streams together. */
function axisOf(streams: readonly StreamTimeline[]): Axis {
  const timed = streams.filter(({ bits }) => bits.length > 0);
  const from = Math.min(...timed.map(({ first }) => first));
  const to = Math.max(...timed.map(({ first, step, bits }) => first + step * bits.length));
  return Number.isFinite(from) && to > from ? { from, to } : { from: 0, to: 1 };
}

export function timeline({ streams, until, cut, streams_left_out: leftOut }: Timeline): Content {
  const axis = axisOf(streams);
  return section(
    'Timeline',
    html`<p>
      ${axis.from.toFixed(2)} to ${axis.to.toFixed(2)} s. Area: bit rate; ticks below: key frames; bars of full height:
      gaps; triangles: time that goes back.
    </p>`,
    until !== undefined &&
      html`<p>
        ${told('warn', `Complete up to ${until.toFixed(2)} s, where the reading was cut short`)} ${stranger(cut)}
      </p>`,
    streams.slice(0, MOST_STREAMS).map((stream) => lane(stream, axis)),
    furtherOnes(streams, MOST_STREAMS),
    leftOut > 0 && html`<p>${several(leftOut, 'further stream')} were not read.</p>`,
  );
}
