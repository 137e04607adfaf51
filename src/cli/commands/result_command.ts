/** `result`, `timeline` and `versions`: what is read back, and what there is to run. */
import type { Envelope, Standing, Timeline } from '../../api_types.ts';
import type { Api } from '../api/api_client.ts';
import { milliseconds } from '../args.ts';
import { addressBelow } from '../cli_config.ts';
import type { Invocation, Run } from '../command.ts';
import { EXIT, Failure } from '../exits.ts';
import { standingLine } from '../follow_request.ts';
import { printAnswer, writeAnswer, writeReport } from '../output/write_answer.ts';
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

const HOUR_MS = 3_600_000;

/** Prints the address alone, for a script or a clipboard. */
async function printLink({ terminal }: Invocation, api: Api, id: string, lasts: string): Promise<void> {
  const body = { hours: Math.ceil(milliseconds('link', lasts) / HOUR_MS) };
  const { url, expires } = await api.call('POST media/log/:id/link', { params: { id }, body });
  await terminal.data(`${(url.startsWith('/') ? addressBelow(api.server, url) : new URL(url)).href}\n`);
  terminal.note(`whoever has this address can read the report until ${expires}; it is shown this once`);
}

const run: Run = async (invocation) => {
  const { positionals, format, terminal } = invocation;
  const id = positionals[0]!;
  const api = await invocation.api();
  const lasts = invocation.text('link');
  if (lasts !== undefined) await printLink(invocation, api, id, lasts);
  else if (format === 'html') await writeReport(invocation, id);
  if (lasts !== undefined || format === 'html') return EXIT.done;
  const body = await readBack(api, 'GET /v1/probe/:id', id);
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
  const { terminal } = invocation;
  const answer = await printAnswer(invocation, 'GET /v1/versions', {}, ({ tools }) => {
    const rows = tools.map(({ tool, latest, versions }) => [
      tool,
      latest ?? 'none',
      versions.map(({ version }) => version).join(' '),
    ]);
    return tableText(terminal, ['TOOL', 'LATEST', 'VERSIONS'], rows);
  });
  for (const { tool, versions } of answer?.tools ?? [])
    for (const { version, warning } of versions)
      if (warning !== undefined) terminal.note(oneLine(`${tool} ${version}: ${warning}`));
  return EXIT.done;
};
