import type { Envelope } from '../../api_types.ts';
import type { Invocation, Run } from '../command.ts';
import { EXIT, Failure, type ExitCode } from '../exits.ts';
import { writeAnswer } from '../output/write_answer.ts';
import { envelopeText } from '../output/envelope_text.ts';
import { shownSource } from '../given_source.ts';
import { withApi } from './forwarded.ts';
import { jobName, kubectlOf, kubectlOfRelease } from './run_kubectl.ts';
import { hasEnded, stateOf, type Job } from './cluster_resources.ts';

export async function printResult(invocation: Invocation, job: Job): Promise<ExitCode> {
  const { format, terminal } = invocation;
  if (!hasEnded(job))
    throw new Failure(`${job.metadata.name} has not ended: ${stateOf(job)}`, EXIT.unknown, {
      hint: `kubectl probeyard explain ${job.metadata.name}`,
    });
  const id = job.status?.resultPath?.split('/').at(-1) ?? job.metadata.uid ?? '';
  const { body } = await withApi(kubectlOfRelease(invocation), invocation, (api) =>
    api.ask('GET /v1/probe/:id', { params: { id } }),
  );
  const answer = JSON.parse(body.toString()) as Envelope;
  if (format === 'table' && !('runs' in answer) && !('output' in answer))
    await terminal.data(
      envelopeText(terminal, shownSource(job.spec.source?.display ?? job.spec.source?.url ?? id), answer),
    );
  else await writeAnswer(invocation, body);
  return answer.success ? EXIT.done : EXIT.failed;
}

const run: Run = async (invocation) => {
  const kubectl = kubectlOf(invocation);
  const job = await kubectl.get<Job>('probejob', jobName(invocation.positionals[0]!));
  return printResult(invocation, job);
};
export default run;
