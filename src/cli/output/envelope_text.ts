/** What is known of a file, for people. */
import { waivedWords } from '../../base/waived.ts';
import { placeOf, policyName } from '../../media/ci_formats/policy_rules.ts';
import { contentChecks } from '../../media/answer/content.ts';
import { differencesTable, tracksTable, warningsTable } from '../../media/answer/file.ts';
import { fileSentence } from '../../media/answer/file_words.ts';
import { SECTIONS, type Envelope, type PolicyResult, type ProbeReport } from '../../api_types.ts';
import { reasonText } from '../exits.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { bytes } from '../../base/scaled.ts';
import { partsText } from './section_text.ts';
import { ageOf, colourOf, duration, paint, several, tableText } from './text_table.ts';

// The verdict of a policy, for people.

/** Everything that is no pass; what passed is counted. */
export function verdictText(terminal: Terminal, verdict: PolicyResult, by = policyName(verdict)): string {
  const { outcome, rules } = verdict;
  const passed = rules.filter((rule) => rule.outcome === 'pass').length;
  const told = rules.filter((rule) => rule.outcome !== 'pass');
  const counts = `${passed} of ${several(rules.length, 'rule')} passed`;
  const head = `${paint(terminal, colourOf(outcome) ?? 'dim', outcome)} ${oneLine(by)}: ${counts}\n`;
  if (told.length === 0) return head;
  const rows = told.map((rule) => [
    rule.name,
    { text: rule.outcome, colour: colourOf(rule.outcome) ?? 'dim' },
    placeOf(rule),
    rule.waived === undefined ? rule.message : `${rule.message}; ${waivedWords(rule.waived)}`,
  ]);
  return head + tableText(terminal, ['RULE', 'OUTCOME', 'WHERE', 'WHY'], rows);
}

const reportText = (terminal: Terminal, report: ProbeReport): string =>
  `${oneLine(fileSentence(report))}\n` +
  partsText(terminal, [tracksTable(report), differencesTable(report), warningsTable(report)]);

export function envelopeText(terminal: Terminal, source: string, envelope: Envelope): string {
  const parts = [`${paint(terminal, 'bold', source)}\n`];
  const report = envelope.probe_report;
  if (report?.success && typeof report.response === 'object' && report.response !== null)
    parts.push(reportText(terminal, report.response));
  const checks = envelope.qc;
  if (checks?.success && typeof checks.response === 'object' && checks.response !== null)
    parts.push(partsText(terminal, contentChecks(checks.response, checks.waived).parts));
  for (const name of SECTIONS) {
    const tool = envelope[name];
    if (tool && !tool.success)
      parts.push(`${paint(terminal, 'red', 'failed')} ${name}: ${oneLine(reasonText(tool))}\n`);
    else if (tool && !report)
      parts.push(`${paint(terminal, 'green', 'done')} ${name} in ${duration(tool.duration)}; its output: -o json\n`);
  }
  if (envelope.timeline?.success === false)
    parts.push(`${paint(terminal, 'red', 'failed')} timeline: ${oneLine(reasonText(envelope.timeline))}\n`);
  if (envelope.policy) parts.push(verdictText(terminal, envelope.policy));
  const { request_id: id, queue_time: queued, io_usage: read, cache } = envelope.metadata;
  const how = cache ? `from the cache, read ${ageOf(cache.age)} ago` : `queued ${duration(queued)}`;
  parts.push(paint(terminal, 'dim', `request ${id}, ${how}, read ${bytes(read)}`), '\n');
  return parts.join('');
}
