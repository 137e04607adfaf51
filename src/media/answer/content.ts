/** What the pictures and the sound are like: findings with their times, and how loud each stream is. */
import type { QcAudio, QcEvent, QcReport, QcVideo, QcWaived } from '../../api_types.ts';
import { several } from '../../base/scaled.ts';
import { waivedWords } from '../../base/waived.ts';
import { fileWords, LEVELS, passagesIn, remarksIn, secondsWords, waivableOf } from '../qc/words.ts';
import {
  type Column,
  type Nothing,
  type Part,
  quiet,
  type Section,
  type Sentence,
  span,
  status,
  table,
} from './section.ts';

export interface Finding {
  noun: string;
  stream: number | undefined;
  /** None: it has no time. */
  event?: QcEvent | undefined;
  more?: string | undefined;
  /** The file must not go on. */
  blocks?: true | undefined;
  /** Of one that can be waived. */
  check?: QcWaived['check'] | undefined;
}

const blockingFirst = (a: Pick<Finding, 'blocks'>, b: Pick<Finding, 'blocks'>): number =>
  Number(b.blocks ?? false) - Number(a.blocks ?? false);

/** What blocks comes first, and a remark before passages: there may be hundreds of those. */
export const findingsOf = (report: QcReport): Finding[] => [
  ...remarksIn(report)
    .toSorted(blockingFirst)
    .map((remark): Finding => {
      const { noun, stream, text: more, range, blocks } = remark;
      const event = range && { ...range, to_end: false };
      return { noun, stream, more, blocks, check: waivableOf(remark)?.check, event };
    }),
  ...passagesIn(report).flatMap(({ check, noun, stream, list, more }): Finding[] => [
    ...list.map(({ detail, ...event }) => ({ check, noun, stream, event, more: detail })),
    ...(more === 0 ? [] : [{ noun, stream, more: `${several(more, 'further finding')} not listed` }]),
  ]),
];

export const FINDING_COLUMNS: readonly Column<Finding>[] = [
  { title: 'Finding', cell: ({ noun, blocks }) => [noun, blocks && status('blocks')] },
  { title: 'Stream', cell: ({ stream }) => stream, right: true },
  { title: 'From', cell: ({ event }) => event && secondsWords(event.from), right: true },
  { title: 'To', cell: ({ event }) => event && secondsWords(event.to), right: true },
  { title: 'Lasts', cell: ({ event }) => event && secondsWords(event.to - event.from), right: true },
  // Some decode errors are told with what the decoder said.
  { title: 'More', cell: ({ event, more }) => [event?.to_end && 'to the end', more && span(more, { most: 800 })] },
];

export const NOTHING_FOUND: Nothing = {
  nothing: 'Nothing was found',
  why: 'No check has a finding as asked for, and the durations are as declared.',
};

export function contentLead(report: QcReport): Sentence {
  const { video, audio, cut, until = null, file } = report;
  const hash = fileWords(file);
  const counts = passagesIn(report).map(({ noun, stream, count }) => `${several(count, noun)} in stream ${stream}`);
  return {
    sentence: [
      `${several(video.length + audio.length, 'stream')} decoded.`,
      counts.length > 0 && `${counts.join(', ')}.`,
      cut !== undefined && (until === null ? 'Cut short:' : `Cut short at ${secondsWords(until)}:`),
      cut !== undefined && span(cut, { most: 120 }),
      hash !== undefined && `The file: ${hash}.`,
    ],
  };
}

/** Behind the findings. */
export const streamsOf = ({ video, audio, not_checked: left }: QcReport): Part[] => [
  table<QcVideo | QcAudio>({
    caption: 'Streams',
    rows: [...video, ...audio],
    columns: [
      { title: 'Stream', cell: ({ stream }) => stream, right: true },
      { title: 'Type', cell: (one) => ('loudness' in one ? 'audio' : 'video') },
      { title: 'Decoded', cell: ({ decoded }) => secondsWords(decoded), raw: ({ decoded }) => decoded, right: true },
      ...LEVELS.map(({ title, text }): Column<QcVideo | QcAudio> => ({
        title,
        cell: (one) => 'loudness' in one && text(one),
        right: true,
      })),
    ],
  }),
  ...left.map(({ stream, type, why }): Sentence => ({
    sentence: [quiet(`Stream ${stream} (${type}) was not checked:`), span(why, { most: 120 })],
  })),
];

const waivedTable = (waived: readonly QcWaived[]) =>
  table({
    caption: 'Waived findings',
    rows: waived,
    columns: [
      { title: 'Check', cell: ({ check }) => check },
      { title: 'Stream', cell: ({ stream }) => stream, right: true },
      { title: 'From', cell: ({ from }) => from !== null && secondsWords(from), right: true },
      { title: 'To', cell: ({ to }) => to !== null && secondsWords(to), right: true },
      { title: 'Why', cell: ({ waived: by }) => waivedWords(by) },
    ],
  });

/** `waived`: of its findings. */
export const contentChecks = (report: QcReport, waived: readonly QcWaived[] = []): Section => ({
  title: 'Content checks',
  parts: [
    contentLead(report),
    table({
      caption: 'Findings',
      rows: findingsOf(report),
      columns: FINDING_COLUMNS,
      none: NOTHING_FOUND,
      alike: ({ noun, stream, event }) => event && `${noun} ${stream}`,
    }),
    waivedTable(waived),
    ...streamsOf(report),
  ],
});
