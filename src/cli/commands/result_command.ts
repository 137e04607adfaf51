/** `result` and `versions`: what is read without running anything. */
import type { Envelope, Standing } from '../../api_types.ts';
import type { Run } from '../command.ts';
import { EXIT, Failure } from '../exits.ts';
import { standingLine } from '../follow_request.ts';
import { writeAnswer } from '../output/write_answer.ts';
import { tableOf } from './probe_command.ts';
import { oneLine } from '../terminal.ts';
import { tableText } from '../output/text_table.ts';

const run: Run = async (invocation) => {
  const { positionals, format, terminal } = invocation;
  const api = await invocation.api();
  const id = positionals[0]!;
  const { status, body } = await api.ask('GET /v1/probe/:id', { params: { id } });
  const parsed = JSON.parse(body.toString()) as unknown;
  if (status === 202) {
    const standing = parsed as Standing;
    const line = standingLine(standing, Date.now() - Date.parse(standing.steps.queued));
    throw new Failure(`the request has not ended: ${line}`, EXIT.unknown);
  }
  const answer = parsed as Envelope;
  if (format === 'table' && answer.metadata !== undefined && !('runs' in answer) && !('output' in answer))
    await terminal.data(await tableOf(invocation, oneLine(id), answer));
  else await writeAnswer(invocation, body);
  return answer.success ? EXIT.done : EXIT.failed;
};
export default run;

export const runVersions: Run = async (invocation) => {
  const { format, terminal } = invocation;
  const api = await invocation.api();
  if (format !== 'table') {
    await writeAnswer(invocation, (await api.ask('GET /v1/versions')).body);
    return EXIT.done;
  }
  const { tools } = await api.call('GET /v1/versions');
  const rows = tools.map(({ tool, latest, versions }) => [
    tool,
    latest ?? 'none',
    versions.map(({ version }) => version).join(' '),
  ]);
  await terminal.data(tableText(terminal, ['TOOL', 'LATEST', 'VERSIONS'], rows));
  for (const { tool, versions } of tools)
    for (const { version, warning } of versions)
      if (warning !== undefined) terminal.note(oneLine(`${tool} ${version}: ${warning}`));
  return EXIT.done;
};
