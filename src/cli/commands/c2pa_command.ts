import type { C2paEnvelope, C2paReport } from '../../api_types.ts';
import { provenance } from '../../media/answer/provenance.ts';
import type { Run } from '../command.ts';
import { EXIT, Failure, type ExitCode } from '../exits.ts';
import { givenSource } from '../given_source.ts';
import { writeAnswer } from '../output/write_answer.ts';
import { partsText } from '../output/section_text.ts';
import { paint } from '../output/text_table.ts';
import type { Terminal } from '../terminal.ts';
import { times } from './request_options.ts';
import { askSingle } from './probe_command.ts';

type State = 'Invalid' | 'none' | 'Valid' | 'Trusted';
const ORDER: readonly State[] = ['Invalid', 'none', 'Valid', 'Trusted'];
const LEAST: Readonly<Record<string, State>> = { valid: 'Valid', trusted: 'Trusted' };

const stateOf = ({ validation_state: state, active_manifest: active }: C2paReport): State =>
  active === null || state === null ? 'none' : state;

/** An invalid manifest always fails; no manifest, only where one is required. */
export const exitOf = (state: State, required: string | undefined): ExitCode =>
  ORDER.indexOf(state) < ORDER.indexOf((required !== undefined && LEAST[required]) || 'none') ? EXIT.failed : EXIT.done;

const text = (terminal: Terminal, source: string, report: C2paReport): string =>
  `${paint(terminal, 'bold', source)}\n${partsText(terminal, provenance(report).parts)}`;

const run: Run = async (invocation) => {
  const { positionals, format, terminal } = invocation;
  const source = await givenSource(positionals[0]!);
  const raw = format === 'raw';
  const fields = { ...times(invocation), inject_output: raw, inject_json: true };
  const { body } = await askSingle(invocation, await invocation.api(), 'c2pa', { fields, source, enveloped: !raw });
  const answer = JSON.parse(body.toString()) as C2paEnvelope | C2paReport;
  const { output = null, error, code } = (raw ? { ...answer, output: answer } : answer) as C2paEnvelope;
  const report = typeof output === 'string' ? (JSON.parse(output) as C2paReport) : output;
  if (format !== 'table') await writeAnswer(invocation, body);
  if (report === null || report.manifests === undefined)
    throw new Failure(error ?? 'the file could not be checked', EXIT.unknown, { code });
  if (format === 'table') await terminal.data(text(terminal, source.shown, report));
  return exitOf(stateOf(report), invocation.text('require'));
};
export default run;
