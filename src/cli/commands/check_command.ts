import type { Judged } from '../../media/ci_formats/judged.ts';
import { judgedByPolicy, policyName } from '../../media/ci_formats/policy_rules.ts';
import type { Envelope, PolicyResult } from '../../api_types.ts';
import type { Run } from '../command.ts';
import { EXIT, reasonText, usage, type ExitCode, type Reason } from '../exits.ts';
import { givenSources, subjectOf, type GivenSource } from '../given_source.ts';
import { reportsOf } from '../output/for_ci.ts';
import { verdictText } from '../output/envelope_text.ts';
import { oneLine } from '../terminal.ts';
import { askFor, fileRequest } from './probe_command.ts';
import { inOrder, tell, unknownText, type Outcome } from './several.ts';

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

function judgedOf(one: Outcome<Checked>, by: string, failOnWarn: boolean): Judged {
  const subject = subjectOf(one.source);
  const unread = 'failure' in one ? one.failure.reason : one.value.unread;
  return unread === undefined && 'value' in one
    ? { ...judgedByPolicy(one.value.verdict, subject.subject, { failOnWarn }), ...subject, by }
    : { ...subject, by, outcome: 'unknown', findings: [], error: reasonText(unread ?? {}) };
}

/** One name for all files of a run: that of a saved policy has its revision, where any file was judged by it. */
function nameOf(given: string, outcomes: readonly Outcome<Checked>[]): string {
  for (const one of outcomes)
    if ('value' in one && one.value.verdict.name !== null) return policyName(one.value.verdict);
  return oneLine(given);
}

const run: Run = async (invocation) => {
  const { positionals, terminal } = invocation;
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
  return tell(invocation, outcomes, {
    text: ({ unread, verdict }) => (unread ? unknownText(terminal, unread) : verdictText(terminal, verdict, by)),
    value: ({ id, verdict, unread }) => ({ request_id: id, ...verdict, ...unread }),
    unknown: { outcome: 'unknown' },
    exit: ({ verdict }) => exitOf(verdict.outcome, failOnWarn),
    ci: { reports, judged: (one) => judgedOf(one, by, failOnWarn) },
  });
};

/** An installation without policies ignores the field. */
const notJudged: PolicyResult = { name: null, revision: null, outcome: 'unknown', rules: [] };
export default run;
