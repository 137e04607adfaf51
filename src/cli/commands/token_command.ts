import type { Api } from '../api/api_client.ts';
import type { Answer, Body } from '../../api_calls.ts';
import type { Given, Invocation, Run } from '../command.ts';
import { milliseconds, whole } from '../args.ts';
import { EXIT, usage } from '../exits.ts';
import { writeValue } from '../output/write_answer.ts';
import { age, tableText } from '../output/text_table.ts';

type Token = Answer<'POST auth/api-token'>;
const PAGE = 1_000;

/** A list shows no token: it is printed where one is made, alone, for a file or a variable. */
const withoutSecrets = ({ token: _token, 'webhook-secret': _secret, ...rest }: Token): object => rest;

async function printSecret(invocation: Invocation, made: Token): Promise<void> {
  const { format, terminal } = invocation;
  if (format !== 'table') await writeValue(invocation, made);
  else {
    terminal.note(`token ${made.id}, "${made.name}"${made.expires === undefined ? '' : `, until ${made.expires}`}`);
    await terminal.data(`${made.token}\n`);
  }
}

async function list(invocation: Invocation, api: Api): Promise<void> {
  const { terminal } = invocation;
  const { 'api-tokens': tokens } = await api.call('GET auth/api-token', { query: { pagination: { limit: PAGE } } });
  const shown = tokens.map((token) => withoutSecrets(token as Token));
  const rows = tokens.map((token) => [
    String(token.id),
    token.name,
    age(token.created),
    token.expires ?? 'never',
    String(token['limits-in-force']['requests-per-minute']),
    String(token['limits-in-force'].concurrency),
    token.permissions?.join(' ') ?? 'as its user',
  ]);
  const head = ['ID', 'NAME', 'AGE', 'EXPIRES', 'PER MINUTE', 'AT ONCE', 'PERMISSIONS'];
  await writeValue(invocation, shown, () => tableText(terminal, head, rows));
}

type Made = NonNullable<Body<'POST auth/api-token'>>;

function bodyOf({ text, texts, value }: Given): Made {
  const permissions = texts('permission') as NonNullable<Made['permissions']>;
  return {
    name: text('name'),
    ttl: value('expires', milliseconds),
    permissions: permissions.length === 0 ? undefined : permissions,
  };
}

function paramsOf(id: string | undefined): { id: string } {
  if (id === undefined) throw usage('token: ID is missing', 'probeyard token list shows the ids');
  return { id: String(whole(1, 999_999_999)('id', id)) };
}

const run: Run = async (invocation) => {
  const [action = 'list', id] = invocation.positionals;
  if (action === 'create' && id !== undefined) throw usage('token create: takes no ID');
  const params = action === 'rotate' || action === 'revoke' ? paramsOf(id) : { id: '' };
  const api = await invocation.api();
  switch (action) {
    case 'create':
      await printSecret(invocation, await api.call('POST auth/api-token', { body: bodyOf(invocation) }));
      break;
    case 'rotate':
      await printSecret(invocation, await api.call('PUT auth/api-token/:id', { params, body: { rotate: true } }));
      break;
    case 'revoke':
      await api.call('DELETE auth/api-token/:id', { params });
      invocation.terminal.note(`token ${params.id} is revoked`);
      break;
    default:
      await list(invocation, api);
  }
  return EXIT.done;
};
export default run;
