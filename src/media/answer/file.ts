/** What a file is, and where the tools disagree about it. */
import type { ProbeReport, ReportDifference as Difference } from '../../api_types.ts';
import { bitRate, bytes } from '../../base/scaled.ts';
import { codecWords, streamWords } from './file_words.ts';
import { code, type Facts, type Section, type Span, span, table, valueWords } from './section.ts';

const known = <T>(value: T | undefined, words: (value: T) => string): string | null =>
  value === undefined ? null : words(value);

export const containerFacts = ({ container }: ProbeReport): Facts => ({
  facts: [
    ['Format', container.format],
    ['Duration', known(container.duration, (seconds) => `${seconds} s`)],
    ['Size', known(container.size, bytes)],
    ['Bit rate', known(container.bitrate?.average, bitRate)],
    ['Title', container.title],
    ['Written by', container.encoder],
    ['Brand', container.brand],
    ['Time code', container.timecode],
    ['Index before the media', known(container.streamable, (is) => (is ? 'yes' : 'no'))],
    ['Chapters', container.chapters?.length],
  ],
});

export const warningsTable = ({ warnings }: ProbeReport) =>
  table({
    caption: 'Warnings',
    rows: warnings,
    columns: [
      { title: 'Warning', cell: ({ message }) => message },
      { title: 'Code', cell: ({ code: name }) => name },
      { title: 'About', cell: ({ path }) => path },
    ],
  });

export const tracksTable = ({ streams }: ProbeReport) =>
  table({
    caption: 'Tracks',
    rows: streams,
    columns: [
      { title: '#', cell: ({ index }) => index, right: true },
      { title: 'Type', cell: ({ type, attached_picture: cover }) => (cover ? 'cover' : type) },
      { title: 'Codec', cell: codecWords },
      { title: 'Duration', cell: ({ duration }) => known(duration, (seconds) => `${seconds} s`), right: true },
      { title: 'Details', cell: streamWords },
    ],
  });

export const fileSection = (report: ProbeReport): Section => ({
  title: 'The file',
  parts: [tracksTable(report), containerFacts(report), warningsTable(report)],
});

export const percent = (share: number): string => `${Math.round(share * 100)} %`;

const WITNESSES = ['ffprobe', 'mediainfo', 'bitstream'] as const;
type Witness = (typeof WITNESSES)[number];

/** Of the pictures, nothing that is absent is denied. */
function saidBy(witness: Witness, row: Difference): Span | null {
  const value = row[witness] ?? null;
  if (value === null && witness === 'bitstream') return null;
  const as = row.chosen === witness ? 'chosen' : 'quiet';
  return span(value === null ? 'does not see it' : valueWords(value), { as, most: 100 });
}

function confidenceIn({ chosen, confidence }: Difference): string {
  if (chosen === null) return 'not known';
  return confidence === undefined ? 'not measured' : percent(confidence);
}

/** A third witness where a value was read from the pictures. */
export function differencesTable({ diff = [] }: ProbeReport) {
  const witnesses = WITNESSES.filter((one) => one !== 'bitstream' || diff.some((row) => row[one] !== undefined));
  return table({
    caption: 'Disagreements',
    rows: diff,
    columns: [
      { title: 'Field', cell: ({ path }) => code(path) },
      ...witnesses.map((title) => ({ title, cell: (row: Difference) => saidBy(title, row) })),
      { title: 'Confidence', cell: confidenceIn, raw: ({ confidence }) => confidence },
      { title: 'Why', cell: ({ reason }) => reason },
    ],
    none: { nothing: 'The tools agree', why: 'Or one of them gave no result: the overview says so.' },
  });
}

export function disagreements(report: ProbeReport): Section {
  const { diff, confidence } = report;
  const disputed = new Set(diff?.map(({ path }) => path));
  const agreed = Object.entries(confidence).filter(([path]) => !disputed.has(path));
  const agreedTable = table({
    caption: 'Fields that are not disputed',
    rows: agreed,
    columns: [
      { title: 'Field', cell: ([path]) => code(path) },
      { title: 'Confidence', cell: ([, share]) => percent(share), raw: ([, share]) => share },
    ],
  });
  return {
    title: 'Disagreements',
    parts: [
      diff
        ? differencesTable(report)
        : { nothing: 'The differences were left out', why: 'The request had probe_report.diff switched off.' },
      ...(agreed.length === 0
        ? []
        : [{ folded: `${agreed.length} fields of known confidence are not disputed`, parts: [agreedTable] }]),
    ],
  };
}
