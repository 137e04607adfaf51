/** `result`, `timeline` and `versions`: what is read back, and what there is to run. */
import type { Envelope, Standing, Timeline } from '../../api_types.ts';
import type { Api } from '../api/api_client.ts';
import type { Run } from '../command.ts';
import { EXIT, Failure } from '../exits.ts';
import { standingLine } from '../follow_request.ts';
import { writeAnswer } from '../output/write_answer.ts';
import { requestOf, tableOf } from './probe_command.ts';
import { oneLine } from '../terminal.ts';
import { tableText } from '../output/text_table.ts';
import { timelineText } from '../output/timeline_text.ts';

/** Of a request that has ended. */
async function readBack(api: Api, name: 'GET /v1/probe/:id' | 'GET /v1/probe/:id/timeline', id: string) {
  const { status, body } = await api.ask(name, { params: { id } });
  if (status !== 202) return body;
  const standing = JSON.parse(body.toString()) as Standing;
  const line = standingLine(standing, Date.now() - Date.parse(standing.steps.queued));
  throw new Failure(`the request has not ended: ${line}`, EXIT.unknown);
}

const run: Run = async (invocation) => {
  const { positionals, format, terminal } = invocation;
  const id = positionals[0]!;
  const body = await readBack(await invocation.api(), 'GET /v1/probe/:id', id);
  const answer = JSON.parse(body.toString()) as Envelope;
  if (format === 'table' && answer.metadata !== undefined && !('runs' in answer) && !('output' in answer))
    await terminal.data(await tableOf(invocation, oneLine(id), answer));
  else await writeAnswer(invocation, body);
  return answer.success ? EXIT.done : EXIT.failed;
};
export default run;

/** Of a request on record, or of a source that is read for it. Where there is none, the API says why. */
export const runTimeline: Run = async (invocation) => {
  const { positionals, format, terminal } = invocation;
  const api = await invocation.api();
  const { id } = await requestOf(invocation, api, positionals[0]!, { only: 'ffprobe', timeline: { enabled: true } });
  const body = await readBack(api, 'GET /v1/probe/:id/timeline', id);
  if (format === 'table') await terminal.data(timelineText(terminal, JSON.parse(body.toString()) as Timeline));
  else await writeAnswer(invocation, body);
  return EXIT.done;
};

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
