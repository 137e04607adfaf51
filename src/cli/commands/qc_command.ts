import { optionsFor, verdictOf, type Longest, type QcVerdict } from '../../media/qc/verdict.ts';
import type { Answered } from '../api/exchange_http.ts';
import type { Envelope, QcReport, QcWaived } from '../../api_types.ts';
import type { Invocation, Run } from '../command.ts';
import { EXIT, Failure, reasonText, type ExitCode } from '../exits.ts';
import { givenSources, memberOf, type GivenSource } from '../given_source.ts';
import { qcText } from '../output/qc_text.ts';
import { paint, several, type Colour } from '../output/text_table.ts';
import { writeValue } from '../output/write_answer.ts';
import { oneLine } from '../terminal.ts';
import { unjudged } from './check_command.ts';
import { readManifest } from './manifest.ts';
import { askFor } from './probe_command.ts';
import { cached, longestPassages, times, withFields } from './request_options.ts';
import { inOrder, worst, type Outcome } from './several.ts';

interface Checked {
  id: string;
  verdict: QcVerdict;
  report: QcReport | null;
  waived: readonly QcWaived[];
}

const COLOURS: Readonly<Record<QcVerdict['verdict'], Colour>> = { pass: 'green', warn: 'yellow', block: 'red' };

function checkedIn({ body }: Answered, longest: Longest): Checked {
  const { success, error, code, metadata, qc } = JSON.parse(body.toString()) as Envelope;
  // Nothing is known of a file that no tool could read.
  if (!success)
    throw new Failure(error ?? qc?.error ?? 'no tool could read it', EXIT.unknown, { code: code ?? qc?.code });
  const report = typeof qc?.response === 'object' ? qc.response : null;
  return { id: metadata.request_id, verdict: verdictOf(qc ?? {}, longest), report, waived: qc?.waived ?? [] };
}

function text({ terminal }: Invocation, one: Outcome<Checked>): string {
  const head = `${paint(terminal, 'bold', one.source.shown)}\n`;
  if ('failure' in one)
    return `${head}${paint(terminal, 'yellow', 'unknown')} ${oneLine(reasonText(one.failure.reason))}\n`;
  const {
    id,
    report,
    waived,
    verdict: { verdict, findings, more, waived_count: count },
  } = one.value;
  const blocking = findings.filter((found) => found.verdict === 'block').map((found) => oneLine(found.text));
  const why = blocking.length === 0 ? '' : ` ${blocking.join('; ')}${more > 0 ? ' …' : ''}`;
  return (
    head +
    (report === null ? '' : qcText(terminal, report, waived)) +
    `${paint(terminal, COLOURS[verdict], verdict)}${why}${waivedText(count)}\n` +
    `${paint(terminal, 'dim', `request ${id}`)}\n`
  );
}

const waivedText = (count: number): string =>
  count === 0 ? '' : ` (${several(count, 'finding')} ${count === 1 ? 'is' : 'are'} waived)`;

const valueOf = (one: Outcome<Checked>): object =>
  'failure' in one
    ? { ...memberOf(one.source), verdict: 'unknown', ...one.failure.reason }
    : { ...memberOf(one.source), request_id: one.value.id, ...one.value.verdict, report: one.value.report };

function exitOf({ verdict }: QcVerdict, failOnWarn: boolean): ExitCode {
  return verdict === 'block' || (verdict === 'warn' && failOnWarn) ? EXIT.failed : EXIT.done;
}

const run: Run = async (invocation) => {
  const { positionals, format, terminal } = invocation;
  const longest = longestPassages(invocation);
  const sources = await givenSources(positionals);
  const manifest = await readManifest(invocation, sources);
  const integrity = invocation.has('integrity') ? { integrity: true } : {};
  const fieldsOf = (source: GivenSource): Record<string, unknown> => {
    const qc = { ...optionsFor(longest), ...integrity, ...manifest.get(source) };
    return withFields({ ...times(invocation), ...cached(invocation), qc }, invocation);
  };
  const api = await invocation.api();
  const outcomes = await inOrder(invocation, sources, 'checked', async (source) => {
    const asked = { source, enveloped: sources.length === 1, path: 'qc' } as const;
    return checkedIn(await askFor(invocation, api, fieldsOf(source), asked), longest);
  });
  if (format === 'table') await terminal.data(outcomes.map((one) => text(invocation, one)).join('\n'));
  else await writeValue(invocation, outcomes.map(valueOf));
  const failOnWarn = invocation.text('fail-on') === 'warn';
  return worst(
    outcomes.map((one) => ('failure' in one ? unjudged(one.failure.exitCode) : exitOf(one.value.verdict, failOnWarn))),
  );
};
export default run;
