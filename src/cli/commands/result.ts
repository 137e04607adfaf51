import type { Envelope } from '../../api_types.ts';
import type { Run } from '../command.ts';
import { EXIT, Failure } from '../failure.ts';
import { standingLine } from '../follow.ts';
import { writeAnswer } from '../output/document.ts';
import { envelopeText } from '../output/report.ts';
import { oneLine } from '../terminal.ts';

const run: Run = async (invocation) => {
  const { positionals, format, terminal } = invocation;
  const api = await invocation.api();
  const id = positionals[0]!;
  const { status, body } = await api.ask('GET /v1/probe/:id', { params: { id } });
  const answer = JSON.parse(body.toString()) as Envelope;
  if (status === 202)
    throw new Failure(
      `the request has not ended: ${standingLine(JSON.parse(body.toString()), Date.now() - begun(body))}`,
      EXIT.unknown,
    );
  if (format === 'table' && answer.metadata !== undefined && !('runs' in answer) && !('output' in answer))
    await terminal.data(envelopeText(terminal, oneLine(id), answer));
  else await writeAnswer(invocation, body);
  return answer.success ? EXIT.done : EXIT.failed;
};

const begun = (body: Buffer): number =>
  Date.parse((JSON.parse(body.toString()) as { steps: { queued: string } }).steps.queued);
export default run;
