/** `waiver`: findings and rules that an account accepts. */
import type { Answer, Body } from '../../api_calls.ts';
import type { Api } from '../api/api_client.ts';
import { milliseconds, whole } from '../args.ts';
import type { Given, Invocation, Run } from '../command.ts';
import { EXIT, usage } from '../exits.ts';
import { tableText } from '../output/text_table.ts';
import { writeValue } from '../output/write_answer.ts';
import { ID } from './probe_command.ts';

type Waiver = Answer<'GET /v1/waivers'>['waivers'][number];
type Made = NonNullable<Body<'POST /v1/waivers'>>;

const LIMIT = 100;
const MOST = 1_000;

function seconds(option: string, text: string): number {
  if (!/^\d{1,9}(\.\d{1,6})?s?$/.test(text)) throw usage(`--${option}: must be a time in seconds such as 12.5`);
  return Number(text.replace('s', ''));
}

/** `30d`, from now; a date or time as it is. */
const instant = (text: string): string =>
  /^\d{4}-/.test(text) ? text : new Date(Date.now() + milliseconds('until', text)).toISOString();

function required({ text }: Given, option: string): string {
  const value = text(option);
  if (value === undefined) throw usage(`waiver create: --${option} is missing`);
  return value;
}

/** What belongs together is checked by the service. */
function bodyOf(given: Given, source: string | undefined): Made {
  const { text, value } = given;
  return {
    [source !== undefined && ID.test(source) ? 'request_id' : 'source']: source,
    check: text('check') as Made['check'],
    stream: value('stream', whole(0, 9_999)),
    from: value('from', seconds),
    to: value('to', seconds),
    policy: text('policy'),
    rule: text('rule'),
    reason: required(given, 'reason'),
    until: instant(required(given, 'until')),
  };
}

async function create(invocation: Invocation, source: string | undefined): Promise<void> {
  const { format, terminal } = invocation;
  const body = bodyOf(invocation, source);
  const made = await (await invocation.api()).call('POST /v1/waivers', { body });
  if (format !== 'table') return writeValue(invocation, made);
  terminal.note(`waiver ${made.id}: ${whatOf(made)}, until ${made.until}`);
  await terminal.data(`${made.id}\n`);
}

/** As `black in stream 0, 0 to 12.5 s`, or `rule frame-rate of shared/web-mp4`. */
function whatOf({ check, stream, from, to, policy, rule }: Waiver): string {
  if (check === null) return `rule ${rule} of ${policy}`;
  return `${check} in stream ${stream}${from === null ? '' : `, ${from} to ${to} s`}`;
}

const stateOf = ({ revoked_at: revoked, until }: Waiver): string =>
  revoked !== null ? 'revoked' : Date.parse(until) <= Date.now() ? 'over' : 'in force';

async function list(invocation: Invocation, api: Api): Promise<void> {
  const limit = invocation.value('limit', whole(1, MOST)) ?? LIMIT;
  const { waivers, next } = await api.call('GET /v1/waivers', { query: { ended: invocation.has('ended'), limit } });
  const head = ['ID', 'STATE', 'UNTIL', 'WHAT', 'SOURCE', 'BY', 'REASON'];
  const rows = waivers.map((one) => [
    one.id,
    stateOf(one),
    one.until.slice(0, 10),
    whatOf(one),
    one.source ?? 'all',
    one.by ?? '',
    one.reason,
  ]);
  await writeValue(invocation, waivers, () => tableText(invocation.terminal, head, rows));
  if (next !== null) invocation.terminal.note(`${waivers.length} are shown; --limit shows up to ${MOST}`);
}

const run: Run = async (invocation) => {
  const [action = 'list', given] = invocation.positionals;
  if (action === 'list' && given !== undefined) throw usage('waiver list: takes no ID');
  if (action === 'delete' && given === undefined)
    throw usage('waiver delete: ID is missing', 'probeyard waiver list shows the ids');
  if (action === 'create') await create(invocation, given);
  else if (action === 'list') await list(invocation, await invocation.api());
  else {
    await (await invocation.api()).call('DELETE /v1/waivers/:id', { params: { id: given! } });
    invocation.terminal.note(`waiver ${given} is revoked`);
  }
  return EXIT.done;
};
export default run;
