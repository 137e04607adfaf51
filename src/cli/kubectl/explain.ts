import type { Run } from '../command.ts';
import { EXIT } from '../failure.ts';
import { writeValue } from '../output/document.ts';
import { paint, tableText } from '../output/table.ts';
import { oneLine } from '../terminal.ts';
import { explain } from './explain_text.ts';
import { jobName, kubectlOf } from './kubectl.ts';
import type { Event, Job, List, Pool, Tool } from './resources.ts';

const run: Run = async (invocation) => {
  const { format, terminal, positionals } = invocation;
  const kubectl = kubectlOf(invocation, invocation);
  const name = jobName(positionals[0]!);
  const job = await kubectl.get<Job>('probejob', name);
  const [pools, tools, events] = await Promise.all([
    kubectl.get<List<Pool>>('probepools'),
    kubectl.get<List<Tool>>('probetools'),
    kubectl.get<List<Event>>('events', `--field-selector=involvedObject.uid=${job.metadata.uid}`),
  ]);
  const made = explain({ job, pools: pools.items, tools: tools.items, events: events.items, now: Date.now() });
  if (format === 'table') {
    const help = made.helps === null ? '' : `  ${oneLine(made.helps)}\n`;
    await terminal.data(`${paint(terminal, 'bold', oneLine(made.sentence))}\n${help}\n`);
    await terminal.data(
      tableText(
        terminal,
        ['FACT', 'VALUE'],
        made.facts.map(({ about, says }) => [about, says]),
      ),
    );
  } else await writeValue(invocation, made);
  return EXIT.done;
};
export default run;
