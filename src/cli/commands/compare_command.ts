/** `compare` and `diff`: what versions of a tool say of one source, and what one says of two. */
import type { Body } from '../../api_calls.ts';
import type { ComparisonAnswer, Envelope } from '../../api_types.ts';
import type { Invocation, Run } from '../command.ts';
import { EXIT, type ExitCode, Failure, usage } from '../exits.ts';
import { submit, type Limits } from '../follow_request.ts';
import { writeAnswer } from '../output/write_answer.ts';
import { paint, several, tableText } from '../output/text_table.ts';
import { checkedSource, givenSource } from '../given_source.ts';
import { oneLine } from '../terminal.ts';
import { times, withFields } from './request_options.ts';
import type { Api } from '../api/api_client.ts';
import { askFor, fileRequest } from './probe_command.ts';

const TOOLS = ['ffprobe', 'mediainfo'] as const;

function versionsOf(tool: string, text: string): string[] {
  const list = text.split(',').map((version) => version.trim());
  if (list.length < 2 || list.includes('')) throw usage(`--${tool}: two or more versions, such as 4.4,7.1`);
  return list;
}

const shown = (value: unknown): string =>
  value === undefined ? '-' : typeof value === 'string' ? value : JSON.stringify(value);

/** News before what a release is known to change, as the API orders them. */
function comparisonText({ terminal }: Pick<Invocation, 'terminal'>, answer: ComparisonAnswer): string {
  const { runs, fields, summary } = answer;
  const names = [...new Set(runs.map(({ run }) => run))];
  const failed = runs.filter(({ success }) => !success);
  const parts = failed.map(
    ({ tool, version, error = 'no reason' }) =>
      `${paint(terminal, 'red', 'failed')} ${tool} ${oneLine(version)}: ${oneLine(error)}\n`,
  );
  for (const { tool, run: which, why } of summary.not_compared)
    parts.push(`${paint(terminal, 'yellow', 'not compared')} ${tool} ${oneLine(which)}: ${oneLine(why)}\n`);
  parts.push(
    summary.fields === 0
      ? 'no field differs\n'
      : `${several(summary.fields, 'field')}, ${summary.known} of them known changes of a release:\n`,
  );
  if (fields.length > 0)
    parts.push(
      tableText(
        terminal,
        ['FIELD', 'TOOL', 'LEVEL', 'CHANGE', ...names.map((name) => name.toUpperCase()), 'KNOWN'],
        fields.map(({ path, tool, level, change, values, known }) => [
          path,
          tool,
          level,
          change,
          ...names.map((name) => shown(values[name])),
          known === undefined ? '' : `since ${known.release}: ${known.note}`,
        ]),
      ),
    );
  if (summary.told < summary.fields) parts.push(`${summary.fields - summary.told} more fields are not listed\n`);
  return parts.join('');
}

export async function printComparison(invocation: Invocation, body: Buffer): Promise<ComparisonAnswer> {
  const answer = JSON.parse(body.toString()) as ComparisonAnswer;
  if (invocation.format === 'table') await invocation.terminal.data(comparisonText(invocation, answer));
  else await writeAnswer(invocation, body);
  return answer;
}

/** Where nothing could be compared, nothing is known. */
export const comparedExit = ({ success, summary }: ComparisonAnswer, different: ExitCode): ExitCode =>
  success ? (summary.fields > 0 ? different : EXIT.done) : EXIT.unknown;

const run: Run = async (invocation) => {
  const tools = TOOLS.flatMap((tool) => {
    const text = invocation.text(tool);
    return text === undefined ? [] : [[tool, { versions: versionsOf(tool, text) }] as const];
  });
  if (tools.length === 0) throw usage('compare: name versions of a tool', 'probeyard compare URL --ffprobe 4.4,7.1');
  const fields = withFields({ ...times(invocation), ...Object.fromEntries(tools) }, invocation);
  const body = { ...fields, url: checkedSource(invocation.positionals[0]!) };
  const { body: answer } = await submit(
    await invocation.api(),
    { name: 'POST /v1/compare', body: body as Body<'POST /v1/compare'> & Limits },
    invocation,
  );
  const comparison = await printComparison(invocation, answer);
  return comparedExit(comparison, invocation.has('exit-code') ? EXIT.failed : EXIT.done);
};
export default run;

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A request on record, or a source that is probed for it. */
async function requestOf(invocation: Invocation, api: Api, text: string): Promise<string> {
  if (ID.test(text)) return text.toLowerCase();
  const source = await givenSource(text);
  const { body } = await askFor(invocation, api, await fileRequest(invocation), { source });
  const { success, error, metadata } = JSON.parse(body.toString()) as Envelope;
  if (!success) throw new Failure(`${source.shown}: ${error ?? 'no tool could read it'}`, EXIT.unknown);
  return metadata.request_id;
}

export const runDiff: Run = async (invocation) => {
  const api = await invocation.api();
  const [a, b] = invocation.positionals as [string, string];
  const ids = [await requestOf(invocation, api, a), await requestOf(invocation, api, b)];
  const { body } = await api.ask('POST /v1/compare', { body: { request_ids: ids } as Body<'POST /v1/compare'> });
  return comparedExit(await printComparison(invocation, body), EXIT.failed);
};
