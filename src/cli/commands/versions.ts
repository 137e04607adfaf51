import type { Run } from '../command.ts';
import { EXIT } from '../failure.ts';
import { writeAnswer } from '../output/document.ts';
import { tableText } from '../output/table.ts';
import { oneLine } from '../terminal.ts';

const run: Run = async (invocation) => {
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
export default run;
