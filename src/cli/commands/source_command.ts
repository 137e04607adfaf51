/** `source`: a bucket whose new objects are probed. */
import type { Answer, Body } from '../../api_calls.ts';
import type { Api } from '../api/api_client.ts';
import { milliseconds } from '../args.ts';
import { addressBelow } from '../cli_config.ts';
import type { Given, Invocation, Run } from '../command.ts';
import { EXIT, usage } from '../exits.ts';
import { age, coloured, factsText, tableText } from '../output/text_table.ts';
import { writeValue } from '../output/write_answer.ts';
import { BUCKET, bucketOf, headOf, LIMIT, paged } from './batch_command.ts';

type Source = Answer<'GET /v1/source'>['sources'][number];
type Sent = NonNullable<Body<'POST /v1/source'>>;

const seconds = (option: string, text: string): number => milliseconds(option, text) / 1_000;

/** What is not given is not sent: the service has the defaults, and the bounds. */
const timesOf = ({ value, has }: Given): Pick<Sent, 'every' | 'settle' | 'bundle' | 'existing'> => ({
  every: value('every', (option, text) => (text === 'none' ? null : seconds(option, text))),
  settle: value('settle', seconds),
  bundle: value('bundle', seconds),
  existing: has('new-only') ? false : undefined,
});

async function create(invocation: Invocation, url: string | undefined): Promise<void> {
  if (url === undefined || !BUCKET.test(url))
    throw usage('source create: a bucket is missing', 's3://BUCKET/PREFIX is one; gs:// and az:// are others');
  const body = { ...(await headOf(invocation)), ...bucketOf(invocation, url), ...timesOf(invocation) };
  const api = await invocation.api();
  await writeKey(invocation, api, await api.call('POST /v1/source', { body: body as Sent }));
}

async function writeKey(invocation: Invocation, api: Api, made: Answer<'POST /v1/source'>): Promise<void> {
  const { format, terminal } = invocation;
  if (format !== 'table') return writeValue(invocation, made);
  terminal.note(`source ${made.id}: its bucket sends events to`);
  terminal.note(addressBelow(api.server, `/v1/source/${made.id}/events?key=${made.events_key}`).href);
  await terminal.data(`${made.id}\n`);
}

const listingText = ({ at, error, found, filtered }: NonNullable<Source['last_listing']>): string =>
  `${at}, ${error ?? `${found} found, ${filtered} not wanted`}`;

function statusText({ terminal }: Invocation, source: Source): string {
  const { name, state, reason, text, url, events, last_listing: last, next_listing_at: next } = source;
  return factsText(
    terminal,
    ['SOURCE', source.id],
    [
      ['name', name],
      ['state', [state, reason ?? []].flat().join(', ')],
      ['why', text],
      ['bucket', url],
      ['objects', `${source.objects} known, ${source.waiting} waiting`],
      ['listed', last && listingText(last)],
      ['listed next', next],
      ['events', `${events.noted} noted, ${events.ignored} ignored`],
      ['confirm', events.confirmation_waiting ? `SNS waits, ${events.confirmation_host ?? 'host not known'}` : null],
    ],
  );
}

async function list(invocation: Invocation, api: Api): Promise<void> {
  const rows = await paged<Source, string>(invocation, LIMIT, async (limit, before) => {
    const query = { limit: Math.min(limit, 100), before };
    const { sources, next } = await api.call('GET /v1/source', { query });
    return { rows: sources, next };
  });
  const cells = rows.map((row) => [
    row.id,
    age(row.created_at),
    coloured(row.state),
    String(row.objects),
    row.last_listing?.error ?? '',
    row.url,
    row.name ?? '',
  ]);
  const head = ['ID', 'AGE', 'STATE', 'OBJECTS', 'ERROR', 'BUCKET', 'NAME'];
  await writeValue(invocation, rows, () => tableText(invocation.terminal, head, cells));
}

const ACTIONS = {
  show: 'GET /v1/source/:id',
  pause: 'POST /v1/source/:id/pause',
  resume: 'POST /v1/source/:id/resume',
  'list-now': 'POST /v1/source/:id/list',
  delete: 'DELETE /v1/source/:id',
} as const;

const run: Run = async (invocation) => {
  const [action = 'list', given] = invocation.positionals;
  if (action === 'create') await create(invocation, given);
  else if (action === 'list') {
    if (given !== undefined) throw usage('source list: takes no ID');
    await list(invocation, await invocation.api());
  } else {
    if (given === undefined) throw usage(`source ${action}: ID is missing`, 'probeyard source list shows the ids');
    const api = await invocation.api();
    const params = { id: given };
    if (action === 'new-key') {
      await writeKey(invocation, api, await api.call('POST /v1/source/:id/key', { params }));
      return EXIT.done;
    }
    const source = await api.call(ACTIONS[action as keyof typeof ACTIONS], { params });
    await writeValue(invocation, source, () => statusText(invocation, source));
  }
  return EXIT.done;
};
export default run;
