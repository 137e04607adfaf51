/** What the file is: one sentence, the container, a row for each stream, the warnings. */
import type { ProbeReport } from '../../api_types.ts';
import { Facts } from '../parts/facts.tsx';
import { bytes, count, said } from '../parts/figures.ts';
import { Stranger } from '../parts/stranger.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { rateOf, sentenceOf } from './sentence.ts';

type Stream = ProbeReport['streams'][number];

const bitRate = (value: number | undefined): string =>
  value === undefined || value === 0 ? '' : `${count(Math.round(value / 1000))} kb/s`;

function pictureOrSound({ size, frame_rate: rate, scan_type: scan, sample_rate: samples, channels }: Stream): string {
  return [
    size?.width !== undefined && size.height !== undefined ? `${size.width}x${size.height}` : null,
    rate !== undefined && rate.numerator > 0 ? `${rateOf(rate)} fps` : null,
    scan ?? null,
    samples === undefined ? null : `${count(samples)} Hz`,
    channels === undefined ? null : `${channels} channels`,
  ]
    .filter((part) => part !== null)
    .join(', ');
}

function pixels({ pixel_format: format, color, hdr, bit_depth: depth }: Stream): string {
  return [
    format?.chroma_subsampling,
    format?.bit_depth === undefined && depth === undefined ? undefined : `${format?.bit_depth ?? depth} bit`,
    color?.primaries,
    color?.transfer,
    ...(hdr?.formats ?? []),
  ]
    .filter((part) => part !== undefined)
    .join(', ');
}

const plain = (title: string, text: (stream: Stream) => string, right = false): Column<Stream> => ({
  title,
  show: (stream) => <Stranger text={text(stream)} most={80} />,
  text,
  right,
});

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

export function Overview({ report }: { report: ProbeReport }) {
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
