/** Content checks for people: a line for each stream, then what was found, with times. */
import { fileWords, LEVELS, passagesIn, remarksIn, remarkWords, secondsWords } from '../../media/qc/words.ts';
import type { QcReport, QcWaived } from '../../api_types.ts';
import { waivedWords } from '../../base/waived.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { paint, several, tableText } from './text_table.ts';

const MOST_TIMES = 5;
const MOST_WAIVED = 20;
const HEAD = ['STREAM', 'TYPE', 'DECODED', ...LEVELS.map(({ title }) => title.toUpperCase())];

const rowsOf = ({ video, audio }: QcReport): string[][] => [
  ...video.map(({ stream, decoded }) => [String(stream), 'video', secondsWords(decoded), ...LEVELS.map(() => '')]),
  ...audio.map((one) => [
    String(one.stream),
    'audio',
    secondsWords(one.decoded),
    ...LEVELS.map(({ text }) => text(one)),
  ]),
];

/** As `2 freezes in stream 0: 2.00 to 5.00 s, 7.00 to 10.00 s (the end)`. */
const passageLines = (report: QcReport): string[] =>
  passagesIn(report).map(({ noun, stream, count, list }) => {
    const told = list.slice(0, MOST_TIMES).map(({ from, to, to_end: last, detail }) => {
      const times = `${from.toFixed(2)} to ${secondsWords(to)}${last ? ' (the end)' : ''}`;
      return detail === undefined ? times : `${times} (${detail})`;
    });
    return `${several(count, noun)} in stream ${stream}: ${told.join(', ')}${told.length < count ? ' …' : ''}`;
  });

function waivedLines(waived: readonly QcWaived[]): string[] {
  const told = waived.slice(0, MOST_WAIVED).map(({ check, stream, from, to, waived: by }) => {
    const times = from === null ? '' : `, ${from.toFixed(2)} to ${secondsWords(to)}`;
    return `${check} in stream ${stream}${times}; ${waivedWords(by)}`;
  });
  return told.length < waived.length ? [...told, `${waived.length - told.length} more`] : told;
}

/** `waived`: of its findings. */
export function qcText(terminal: Terminal, report: QcReport, waived: readonly QcWaived[] = []): string {
  const parts = [tableText(terminal, HEAD, rowsOf(report))];
  for (const line of [...passageLines(report), ...remarksIn(report).map(remarkWords)])
    parts.push(`${paint(terminal, 'yellow', 'content')} ${oneLine(line)}\n`);
  for (const line of waivedLines(waived)) parts.push(`${paint(terminal, 'dim', 'waived')} ${oneLine(line)}\n`);
  const file = fileWords(report.file);
  if (file !== undefined) parts.push(`the file: ${file}\n`);
  if (report.cut !== undefined)
    parts.push(`the content checks ended at ${secondsWords(report.until ?? null)}: ${oneLine(report.cut)}\n`);
  for (const { stream, type, why } of report.not_checked)
    parts.push(`stream ${stream} (${type}) was not checked: ${oneLine(why)}\n`);
  return parts.join('');
}
