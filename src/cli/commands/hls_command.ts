import type { Finding, Judged } from '../../media/ci_formats/judged.ts';
import type { HlsMessage, HlsReport, MsvEnvelope } from '../../api_types.ts';
import type { Run } from '../command.ts';
import { addressBelow } from '../cli_config.ts';
import { EXIT, reasonText, usage, type ExitCode, type Reason } from '../exits.ts';
import { givenSources, subjectOf, type GivenSource } from '../given_source.ts';
import { coloured, paint, several, tableText } from '../output/text_table.ts';
import { reportsOf } from '../output/for_ci.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { times, withFields } from './request_options.ts';
import { askSingle } from './probe_command.ts';
import { inOrder, tell, unknownText, type Outcome } from './several.ts';

const LEVELS = ['must-fix', 'should-fix', 'info'] as const;
type Level = (typeof LEVELS)[number];

interface Validated {
  body: Buffer;
  /** Null: the playlist could not be read. */
  report: HlsReport | null;
  reason: Reason;
}

/** Findings of this level and of worse ones fail. */
const fails = (level: Level, failOn: Level): boolean => LEVELS.indexOf(level) <= LEVELS.indexOf(failOn);

function exitOf({ report }: Validated, failOn: Level): ExitCode {
  if (report === null) return EXIT.unknown;
  const { must_fix: must, should_fix: should, info } = report.summary;
  const counts: Record<Level, number> = { 'must-fix': must, 'should-fix': should, info };
  return LEVELS.some((level) => fails(level, failOn) && counts[level] > 0) ? EXIT.failed : EXIT.done;
}

/** `rules`: the page that describes the rules. */
function findingOf(found: HlsMessage, failOn: Level, rules: string): Finding {
  const { level, code, rule, message, remedy, url, line, count } = found;
  return {
    rule: code,
    outcome: level === 'must-fix' ? 'fail' : 'warn',
    blocking: fails(level, failOn),
    message,
    expected: rule,
    ...(remedy === undefined ? {} : { remedy }),
    // After ": " is what was found here.
    about: { text: `${message.split(': ')[0]}.`, url: rules },
    url,
    line,
    ...(count === undefined ? {} : { detail: `${count} times` }),
  };
}

function judgedOf(one: Outcome<Validated>, failOn: Level, rules: string): Judged {
  const subject = subjectOf(one.source);
  const by = 'HLS';
  const { report, reason } = 'failure' in one ? { report: null, reason: one.failure.reason } : one.value;
  if (report === null) return { ...subject, by, outcome: 'unknown', findings: [], error: reasonText(reason) };
  return {
    ...subject,
    by,
    outcome: report.success ? 'pass' : 'fail',
    // Information is no finding of a build, unless it is to fail.
    findings: report.messages
      .filter(({ level }) => level !== 'info' || failOn === 'info')
      .map((message) => findingOf(message, failOn, rules))
      // The service has a name of its own for a file that was sent.
      .map(({ url, ...finding }) => (one.source.file || url === undefined ? finding : { ...finding, url })),
  };
}

/** The end of a long address is what tells playlists apart. */
const placeOf = ({ url, line }: HlsMessage): string => `${url.split('/').at(-1) ?? url}:${line}`;

/** What is wrong, then what to do. */
function whyOf({ message, remedy, count }: HlsMessage): string {
  const wrong = count === undefined ? message : `${message} (${count} times)`;
  return remedy === undefined ? wrong : `${wrong}${/[.?!]$/.test(wrong) ? '' : '.'} ${remedy}`;
}

function reportText(terminal: Terminal, { messages, summary, version }: HlsReport): string {
  const { must_fix: must, should_fix: should, info, playlists, segments, untold, live } = summary;
  const counts = `${must} must-fix, ${should} should-fix, ${info} info`;
  const read = `${several(playlists, 'playlist')}, ${several(segments, 'segment')}${live ? ', live' : ''}`;
  const head = `${paint(terminal, must > 0 ? 'red' : 'green', counts)} in ${read} (rules ${oneLine(version)})\n`;
  if (messages.length === 0) return head;
  const rows = messages.map((message) => [coloured(message.level), message.code, placeOf(message)]);
  const [titles, ...places] = tableText(terminal, ['LEVEL', 'CODE', 'WHERE'], rows).trimEnd().split('\n');
  // On a line of its own: the last column of a table is cut to the width of the terminal.
  const list = messages.map((message, index) => `${places[index]}\n  ${oneLine(whyOf(message))}\n`);
  const rest = untold > 0 ? `${untold} more findings are not listed\n` : '';
  return `${head}${titles}\n${list.join('')}${rest}`;
}

const run: Run = async (invocation) => {
  const { positionals, terminal } = invocation;
  const failOn = (invocation.text('fail-on') ?? 'must-fix') as Level;
  const reports = reportsOf(invocation);
  const sources = await givenSources(positionals);
  for (const option of ['segments', 'all-segments'])
    if (invocation.has(option) && sources.some(({ file }) => file))
      throw usage(`--${option}: segments are read from addresses`, 'give the address of the playlist');
  const api = await invocation.api();
  const fields = withFields(
    {
      ...times(invocation),
      inject_output: false,
      inject_json: true,
      ...(invocation.has('segments') ? { parse_playlist_only: false } : {}),
      ...(invocation.has('all-segments') ? { measure_all_segments: true } : {}),
    },
    invocation,
  );
  const enveloped = positionals.length === 1;
  async function validate(source: GivenSource): Promise<Validated> {
    const { body } = await askSingle(invocation, api, 'mediastreamvalidator', { fields, source, enveloped });
    const { output, error, code } = JSON.parse(body.toString()) as MsvEnvelope;
    const report = typeof output === 'string' ? (JSON.parse(output) as HlsReport) : output;
    return { body, report, reason: { error, code } };
  }
  const outcomes = await inOrder(invocation, sources, 'validated', validate);
  const rules = addressBelow(api.server, '/docs/hls-rules').href;
  return tell(invocation, outcomes, {
    text: ({ report, reason }) => (report ? reportText(terminal, report) : unknownText(terminal, reason)),
    value: ({ body }) => JSON.parse(body.toString()) as MsvEnvelope,
    unknown: { success: false },
    exit: (one) => exitOf(one, failOn),
    alone: ({ body }) => body,
    ci: { reports, judged: (one) => judgedOf(one, failOn, rules) },
  });
};
export default run;
