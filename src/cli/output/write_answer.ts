/** Answers as JSON, unchanged, or as YAML; and the report of a request as HTML. */
import type { Answer, CallName } from '../../api_calls.ts';
import type { Call } from '../api/api_client.ts';
import type { Invocation } from '../command.ts';

export async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** A body of the API. JSON is passed on byte for byte: numbers keep their digits. */
export async function writeAnswer({ format, terminal }: Invocation, body: Buffer): Promise<void> {
  if (format === 'yaml') return terminal.data(await yamlText(JSON.parse(body.toString())));
  await terminal.data(body);
  if (body.at(-1) !== 0x0a) await terminal.data('\n');
}

/** An answer of the API: as it is, or for people as a table, and then it is returned. */
export async function printAnswer<N extends CallName>(
  invocation: Invocation,
  name: N,
  given: Call<N>,
  table: (answer: Answer<N>) => string,
): Promise<Answer<N> | undefined> {
  const api = await invocation.api();
  if (invocation.format !== 'table') {
    await writeAnswer(invocation, (await api.ask(name, given)).body);
    return undefined;
  }
  const answer = await api.call(name, given);
  await invocation.terminal.data(table(answer));
  return answer;
}

/** A value of our own; `table`: what people read instead. */
export async function writeValue(
  { format, terminal }: Invocation,
  value: unknown,
  table?: () => string,
): Promise<void> {
  if (format === 'table' && table) return terminal.data(table());
  await terminal.data(format === 'yaml' ? await yamlText(value) : `${JSON.stringify(value, null, 2)}\n`);
}

/** A page that needs nothing else. */
export async function writeReport({ api, terminal }: Invocation, id: string): Promise<void> {
  const { body } = await (await api()).ask('GET media/log/:id/report', { params: { id } });
  await terminal.data(body);
}
