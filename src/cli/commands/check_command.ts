import type { Judged } from '../../media/ci_formats/judged.ts';
import { judgedByPolicy, policyName } from '../../media/ci_formats/policy_rules.ts';
import type { Envelope, PolicyResult } from '../../api_types.ts';
import type { Invocation, Run } from '../command.ts';
import { EXIT, reasonText, usage, type ExitCode, type Reason } from '../exits.ts';
import { givenSources, memberOf, subjectOf, type GivenSource } from '../given_source.ts';
import { writeValue } from '../output/write_answer.ts';
import { ciText, isForCi, reportsOf, writeReports } from '../output/for_ci.ts';
import { paint } from '../output/text_table.ts';
import { verdictText } from '../output/envelope_text.ts';
import { oneLine } from '../terminal.ts';
import { askFor, fileRequest } from './probe_command.ts';
import { inOrder, worst, type Outcome } from './several.ts';

interface Checked {
  id: string;
  verdict: PolicyResult;
  /** Why nothing could be judged: the tools have no result. */
  unread?: Reason;
}

/** Every rule needs the report, and there is none: said once, with the reason. */
function unreadIn({ error, code, probe_report: report }: Envelope, { rules }: PolicyResult): { unread?: Reason } {
  if (report === undefined || report.success || rules.some(({ outcome }) => outcome !== 'unknown')) return {};
  return { unread: error === undefined ? { error: report.error, code: report.code } : { error, code } };
}

/** Of each source once: its verdict, or why it has none. */
function judgedIn(one: Outcome<Checked>): { unread: Reason } | { verdict: PolicyResult } {
  if ('failure' in one) return { unread: one.failure.reason };
  const { unread, verdict } = one.value;
  return unread === undefined ? { verdict } : { unread };
}

/** A rule that could not be judged is never a pass, and neither is a policy of which no rule applied. */
export function exitOf(outcome: PolicyResult['outcome'], failOnWarn: boolean): ExitCode {
  switch (outcome) {
    case 'pass':
      return EXIT.done;
    case 'warn':
      return failOnWarn ? EXIT.failed : EXIT.done;
    case 'fail':
      return EXIT.failed;
    case 'unknown':
    case 'not-applicable':
      return EXIT.unknown;
  }
}

const judgedOf = (one: Outcome<Checked>, by: string, failOnWarn: boolean): Judged => {
  const subject = subjectOf(one.source);
  const judged = judgedIn(one);
  return 'unread' in judged
    ? { ...subject, by, outcome: 'unknown', findings: [], error: reasonText(judged.unread) }
    : { ...judgedByPolicy(judged.verdict, subject.subject, { failOnWarn }), ...subject, by };
};

/** One name for all files of a run: that of a saved policy has its revision, where any file was judged by it. */
function nameOf(given: string, outcomes: readonly Outcome<Checked>[]): string {
  for (const one of outcomes)
    if ('value' in one && one.value.verdict.name !== null) return policyName(one.value.verdict);
  return oneLine(given);
}

const valueOf = (one: Outcome<Checked>): object =>
  'failure' in one
    ? { ...memberOf(one.source), outcome: 'unknown', ...one.failure.reason }
    : {
        ...memberOf(one.source),
        request_id: one.value.id,
        ...one.value.verdict,
        ...one.value.unread,
      };

function text({ terminal }: Invocation, one: Outcome<Checked>, by: string): string {
  const head = `${paint(terminal, 'bold', one.source.shown)}\n`;
  const judged = judgedIn(one);
  return 'unread' in judged
    ? `${head}${paint(terminal, 'yellow', 'unknown')} ${oneLine(reasonText(judged.unread))}\n`
    : head + verdictText(terminal, judged.verdict, by);
}

const run: Run = async (invocation) => {
  const { positionals, format, terminal } = invocation;
  const policy = invocation.text('policy');
  if (policy === undefined) throw usage('check: --policy is missing', 'probeyard check URL --policy shared/web-mp4');
  const sources = await givenSources(positionals);
  const reports = reportsOf(invocation);
  const fields = await fileRequest(invocation);
  const failOnWarn = invocation.text('fail-on') === 'warn';
  const api = await invocation.api();
  async function check(source: GivenSource): Promise<Checked> {
    const { body } = await askFor(invocation, api, fields, { source, enveloped: sources.length === 1 });
    const envelope = JSON.parse(body.toString()) as Envelope;
    const { metadata, policy: verdict = notJudged } = envelope;
    return { id: metadata.request_id, verdict, ...unreadIn(envelope, verdict) };
  }
  const outcomes = await inOrder(invocation, sources, 'checked', check);
  const by = nameOf(policy, outcomes);
  const judged = outcomes.map((one) => judgedOf(one, by, failOnWarn));
  await writeReports(reports, judged);
  if (isForCi(format)) await terminal.data(await ciText(format, judged));
  else if (format === 'table') await terminal.data(outcomes.map((one) => text(invocation, one, by)).join('\n'));
  else await writeValue(invocation, outcomes.map(valueOf));
  return worst(
    outcomes.map((one) =>
      'failure' in one ? unjudged(one.failure.exitCode) : exitOf(one.value.verdict.outcome, failOnWarn),
    ),
  );
};

/** An installation without policies ignores the field. */
const notJudged: PolicyResult = { name: null, revision: null, outcome: 'unknown', rules: [] };

/** A source that cannot be read breaks no rule: nothing is known of it. */
export const unjudged = (code: ExitCode): ExitCode => (code === EXIT.failed ? EXIT.unknown : code);
export default run;
