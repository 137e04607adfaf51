/** `upgrade`: what another version of a tool would change, over many addresses. */
import { valueWords } from '../../media/answer/section.ts';
import { readFile } from 'node:fs/promises';
import type { Api } from '../api/api_client.ts';
import type { Answer } from '../../api_calls.ts';
import type { ComparisonAnswer } from '../../api_types.ts';
import type { Invocation, Run } from '../command.ts';
import { inOrder } from '../commands/several.ts';
import { times } from '../commands/request_options.ts';
import { EXIT, Failure, reasonText, usage, type ExitCode } from '../exits.ts';
import { submit } from '../follow_request.ts';
import { givenAddress, type GivenSource } from '../given_source.ts';
import { writeValue } from '../output/write_answer.ts';
import { several, tableText } from '../output/text_table.ts';
import { oneLine } from '../terminal.ts';
import { withApi } from './forwarded.ts';
import { kubectlOf } from './run_kubectl.ts';

type Report = Answer<'POST /v1/compare/report'>;
const MOST = 1_000;

async function addresses({ positionals, text }: Invocation): Promise<GivenSource[]> {
  const [, , , ...given] = positionals;
  const file = text('file');
  const listed =
    file === undefined
      ? []
      : (await readFile(file, 'utf8').catch(() => Promise.reject(usage(`${file}: cannot be read`)))).split('\n');
  const all = [...given, ...listed.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))];
  if (all.length === 0)
    throw usage('upgrade: no addresses', 'give some, or a file with one on each line: -f addresses.txt');
  if (all.length > MOST) throw usage(`upgrade: ${all.length} addresses; one report is of at most ${MOST}`);
  return all.map(givenAddress);
}

function reportText({ terminal }: Invocation, report: Report, [from, to]: [string, string]): string {
  const { fields, policies = [] } = report;
  return [
    fields.length === 0
      ? 'no field changes\n'
      : tableText(
          terminal,
          ['FIELD', 'LEVEL', 'CHANGE', 'FILES', from, to, 'KNOWN'],
          fields.map(({ path, level, change, files, examples, known }) => [
            path,
            level,
            change,
            String(files),
            valueWords(examples[0]?.values[from], '-'),
            valueWords(examples[0]?.values[to], '-'),
            known === undefined ? '' : `since ${known.release}: ${known.note}`,
          ]),
        ),
    ...policies.map(
      ({ name, flips, judged }) =>
        `policy ${oneLine(name)}: the outcome of ${flips} of ${several(judged, 'file')} changes\n`,
    ),
  ].join('');
}

async function reportOf(invocation: Invocation, api: Api, [tool, from, to]: [string, string, string]) {
  const sources = await addresses(invocation);
  async function compare({ text: url }: GivenSource): Promise<string> {
    const body = { ...times(invocation), url, [tool]: { versions: [from, to] } };
    const answered = await submit(api, { name: 'POST /v1/compare', body, enveloped: false }, invocation);
    const { success, error, code, metadata } = JSON.parse(answered.body.toString()) as ComparisonAnswer;
    if (!success) throw new Failure(error ?? 'the versions could not be compared', EXIT.unknown, { code });
    return metadata.request_id!;
  }
  const outcomes = await inOrder(invocation, sources, 'compared', compare);
  const failed = outcomes.flatMap((one) => ('failure' in one ? [one] : []));
  const ids = outcomes.flatMap((one) => ('value' in one ? [one.value] : []));
  if (ids.length === 0) throw failed[0]!.failure;
  const policies = invocation.texts('policy');
  const report = await api.call('POST /v1/compare/report', {
    body: { request_ids: ids, policies: policies.length === 0 ? undefined : [...policies] },
  });
  return { report, failed };
}

const run: Run = async (invocation): Promise<ExitCode> => {
  const { terminal } = invocation;
  const [tool, from, to] = invocation.positionals as [string, string, string];
  const kubectl = kubectlOf(invocation);
  const { report, failed } = await withApi(kubectl, invocation, (api) => reportOf(invocation, api, [tool, from, to]));
  for (const { source, failure } of failed) terminal.note(`${source.shown}: ${reasonText(failure.reason)}`);
  await writeValue(invocation, report, () => reportText(invocation, report, [from, to]));
  return failed.length === 0 ? EXIT.done : EXIT.unknown;
};
export default run;
