/** `compare` and `diff`: what versions of a tool say of one source, and what one says of two. */
import { notCompared } from '../../media/answer/comparison.ts';
import { valueWords } from '../../media/answer/section.ts';
import type { Body } from '../../api_calls.ts';
import type { ChangedField, ComparisonAnswer } from '../../api_types.ts';
import type { Given, Invocation, Run } from '../command.ts';
import { EXIT, type ExitCode, reasonText, usage } from '../exits.ts';
import { submit } from '../follow_request.ts';
import { writeAnswer, writeValue } from '../output/write_answer.ts';
import { partsText } from '../output/section_text.ts';
import { paint, several, tableText } from '../output/text_table.ts';
import { checkedSource } from '../given_source.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { times, withFields } from './request_options.ts';
import { requestOf } from './probe_command.ts';

type Level = ChangedField['level'];

function versionsOf(tool: string, text: string): { versions: string[] } {
  const list = text.split(',').map((version) => version.trim());
  if (list.length < 2 || list.includes('')) throw usage(`--${tool}: two or more versions, such as 4.4,7.1`);
  return { versions: list };
}

// Which of the differing fields are asked for.

/** Names of files and their paths, as ffprobe and mediainfo print them: they say nothing of what is in a file. */
const NAMES: readonly string[] = [
  'format.filename',
  'media.@ref',
  ...['CompleteName', 'FolderName', 'FileName', 'FileNameExtension', 'FileExtension'].flatMap((name) => [
    `media.track[@type=General].${name}`,
    `media.track[@type=General].${name}_Last`,
  ]),
];

/** `streams[2].tags.x` as `streams[].tags.x`; `track[@type=Audio]` and `["com.x.y"]` stay. */
const withoutPlaces = (path: string): string => path.replaceAll(/\[\d+\]/g, '[]');

/** The field itself, and all that is below it. */
const covers = (ignored: string, path: string): boolean =>
  [path, withoutPlaces(path)].some(
    (one) => one === ignored || (one.startsWith(ignored) && /^[.[]/.test(one.slice(ignored.length))),
  );

interface View {
  level?: Level | undefined;
  ignored: readonly string[];
  /** Without changes that a release is known to make. */
  news: boolean;
}

const viewOf = ({ has, text, texts }: Given, ignored: readonly string[] = []): View => ({
  level: text('level') as Level | undefined,
  ignored: [...ignored, ...texts('ignore')],
  news: has('news'),
});

/**
 * The comparison as far as it is asked for, counted anew. Of fields that the API counts without listing them nobody
 * knows whether they are ignored: they stay in `summary.fields`.
 */
export function comparisonIn(answer: ComparisonAnswer, { level, ignored, news }: View): ComparisonAnswer {
  const { fields: all, summary } = answer;
  const ofLevel = all.filter((field) => level === undefined || field.level === level);
  const isNews = ({ known }: ChangedField): boolean => known === undefined;
  const unlisted = (level === undefined ? summary.fields : summary[level]) - ofLevel.length;
  const unlistedNews = summary.fields - summary.known - all.filter(isNews).length;
  const rest = Math.max(0, news ? Math.min(unlisted, unlistedNews) : unlisted);
  const fields = ofLevel.filter((field) => (!news || isNews(field)) && !ignored.some((one) => covers(one, field.path)));
  const count = (counts: (field: ChangedField) => boolean): number => fields.filter(counts).length;
  return {
    ...answer,
    fields,
    summary: {
      ...summary,
      fields: fields.length + rest,
      told: fields.length,
      known: count((field) => !isNews(field)),
      canonical: count((field) => field.level === 'canonical'),
      raw: count((field) => field.level === 'raw'),
      changes: Object.fromEntries(
        Object.keys(summary.changes).map((change) => [change, count((field) => field.change === change)]),
      ) as typeof summary.changes,
    },
  };
}

// As text.

function fieldTable(terminal: Terminal, names: readonly string[], fields: readonly ChangedField[]): string {
  const isKnown = fields.some(({ known }) => known !== undefined);
  return tableText(
    terminal,
    ['FIELD', 'TOOL', 'LEVEL', 'CHANGE', ...names.map((name) => name.toUpperCase()), ...(isKnown ? ['KNOWN'] : [])],
    fields.map(({ path, tool, level, change, values, known }) => [
      path,
      tool,
      level,
      change,
      ...names.map((name) => valueWords(values[name], '-')),
      ...(known ? [`since ${known.release}: ${known.note}`] : []),
    ]),
  );
}

/** News first: what a release is known to change is expected. */
export function comparisonText(terminal: Terminal, answer: ComparisonAnswer): string {
  const { runs, fields, summary } = answer;
  const names = [...new Set(runs.map(({ run }) => run))];
  const failed = runs.filter(({ success }) => !success);
  const parts = failed.map(
    (one) => `${paint(terminal, 'red', 'failed')} ${one.tool} ${oneLine(one.version)}: ${oneLine(reasonText(one))}\n`,
  );
  const news = fields.filter((field) => field.known === undefined);
  const known = fields.filter((field) => field.known !== undefined);
  if (!answer.success) parts.push(`${paint(terminal, 'yellow', 'unknown')} ${oneLine(reasonText(answer))}\n`);
  else if (summary.fields === 0) parts.push('no field differs\n');
  if (news.length > 0)
    parts.push(
      `${several(news.length, 'field')} differ${news.length === 1 ? 's' : ''}:\n`,
      fieldTable(terminal, names, news),
    );
  if (known.length > 0)
    parts.push(
      `${news.length > 0 ? '' : 'nothing but '}${several(known.length, 'known change')} of a release:\n`,
      fieldTable(terminal, names, known),
    );
  parts.push(partsText(terminal, notCompared(answer)));
  return parts.join('');
}

async function printComparison(invocation: Invocation, body: Buffer, view: View): Promise<ComparisonAnswer> {
  const answer = comparisonIn(JSON.parse(body.toString()) as ComparisonAnswer, view);
  const isWhole = view.level === undefined && view.ignored.length === 0 && !view.news;
  if (invocation.format === 'table') await invocation.terminal.data(comparisonText(invocation.terminal, answer));
  else await (isWhole ? writeAnswer(invocation, body) : writeValue(invocation, answer));
  return answer;
}

/** Where nothing could be compared, nothing is known; nor where all that is listed is ignored, and more is not. */
export function comparedExit({ success, fields, summary }: ComparisonAnswer, different: ExitCode): ExitCode {
  if (!success) return EXIT.unknown;
  if (fields.length > 0) return different;
  return summary.fields > 0 && different !== EXIT.done ? EXIT.unknown : EXIT.done;
}

const run: Run = async (invocation) => {
  const [ffprobe, mediainfo] = [invocation.value('ffprobe', versionsOf), invocation.value('mediainfo', versionsOf)];
  if (!ffprobe && !mediainfo)
    throw usage('compare: name versions of a tool', 'probeyard compare URL --ffprobe 4.4,7.1');
  const fields = withFields({ ...times(invocation), ffprobe, mediainfo }, invocation);
  const body = { ...fields, url: checkedSource(invocation.positionals[0]!) };
  const { body: answer } = await submit(await invocation.api(), { name: 'POST /v1/compare', body }, invocation);
  const comparison = await printComparison(invocation, answer, viewOf(invocation));
  return comparedExit(comparison, invocation.has('exit-code') ? EXIT.failed : EXIT.done);
};
export default run;

export const runDiff: Run = async (invocation) => {
  const api = await invocation.api();
  const ids: string[] = [];
  for (const text of invocation.positionals) {
    const { id, failure } = await requestOf(invocation, api, text);
    if (failure) throw failure;
    ids.push(id);
  }
  const { body } = await api.ask('POST /v1/compare', { body: { request_ids: ids } as Body<'POST /v1/compare'> });
  return comparedExit(await printComparison(invocation, body, viewOf(invocation, NAMES)), EXIT.failed);
};
