/** `probe`: what is in files and streams; and how other commands ask for it. */
import { readFile } from 'node:fs/promises';
import { isObject } from '../../base/is_object.ts';
import { EXIT, type ExitCode, Failure, reasonText, usage } from '../exits.ts';
import type { Api } from '../api/api_client.ts';
import type { Answered } from '../api/exchange_http.ts';
import type { Envelope } from '../../api_types.ts';
import type { Invocation, Run } from '../command.ts';
import { submit, type Fields } from '../follow_request.ts';
import { givenSource, type GivenSource, givenSources, memberOf } from '../given_source.ts';
import { writeAnswer, writeReport, yamlText } from '../output/write_answer.ts';
import { envelopeText } from '../output/envelope_text.ts';
import { cached, times, versions, withFields } from './request_options.ts';
import { inOrder, worst, type Outcome } from './several.ts';

// What `--policy` names: a saved policy, or a file that holds one.

const FILE = /\.(?:ya?ml|json)$/i;

async function policyOf(text: string): Promise<string | Record<string, unknown>> {
  if (/\.xml$/i.test(text))
    throw usage(`${text}: a policy of MediaConch has to be saved first`, 'PUT /v1/policy/NAME translates it');
  if (!FILE.test(text)) return text;
  let content: string;
  try {
    content = await readFile(text, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usage(`${text}: cannot be read: ${code}`, 'a name that ends in .yaml, .yml or .json is a file');
  }
  return parsed(content, text);
}

async function parsed(content: string, path: string): Promise<Record<string, unknown>> {
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    value = parse(content, { maxAliasCount: 0 });
  } catch (error) {
    throw usage(`${path}: is not valid YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  if (!isObject(value)) throw usage(`${path}: is not a policy: it needs rules`);
  return value;
}

export async function fileRequest(invocation: Invocation): Promise<Fields> {
  const policy = invocation.text('policy');
  return withFields(
    {
      ...times(invocation),
      ...versions(invocation),
      ...cached(invocation),
      only: invocation.text('only'),
      timeline: invocation.has('timeline') ? { enabled: true } : undefined,
      qc: invocation.has('qc') ? { enabled: true } : undefined,
      policy: policy === undefined ? undefined : await policyOf(policy),
    },
    invocation,
  );
}

interface ToAsk {
  source: GivenSource;
  enveloped?: boolean;
  path?: 'file' | 'qc';
}

/** Asks for one source: its address stands in the body, or its file is sent beside it. */
export const askFor = (
  invocation: Invocation,
  api: Api,
  fields: Fields,
  { source: { text, file }, enveloped = true, path = 'file' }: ToAsk,
): Promise<Answered> =>
  submit(
    api,
    {
      name: `POST /v1/probe/${path}` as const,
      body: { ...fields, ...(file ? {} : { url: text }) },
      file,
      enveloped,
    },
    invocation,
  );

export const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A request on record, or one that is made for a source. */
export async function requestOf(
  invocation: Invocation,
  api: Api,
  text: string,
  more: Record<string, unknown> = {},
): Promise<{ id: string; failure?: Failure }> {
  if (ID.test(text)) return { id: text.toLowerCase() };
  const source = await givenSource(text);
  const answered = await askFor(invocation, api, { ...(await fileRequest(invocation)), ...more }, { source });
  const { success, error, code, metadata } = envelopeOf(answered);
  const id = metadata.request_id;
  if (success) return { id };
  return { id, failure: new Failure(`${source.shown}: ${error ?? 'no tool could read it'}`, EXIT.unknown, { code }) };
}

const exitOf = ({ success }: Envelope): ExitCode => (success ? EXIT.done : EXIT.failed);
const envelopeOf = ({ body }: Answered): Envelope => JSON.parse(body.toString()) as Envelope;

const run: Run = async (invocation) => {
  const { positionals, format } = invocation;
  const sources = await givenSources(positionals);
  const raw = format === 'raw';
  if (raw && (sources.length > 1 || invocation.text('only') === undefined))
    throw usage('-o raw prints the output of one tool about one address', 'add --only ffprobe or another tool');
  if (format === 'html' && sources.length > 1) throw usage('-o html prints the report of one source');
  const fields = await fileRequest(invocation);
  if (raw) fields['inject_output'] = true;
  const api = await invocation.api();
  const probe = (source: GivenSource): Promise<Answered> =>
    askFor(invocation, api, fields, { source, enveloped: !raw && sources.length === 1 });
  const outcomes = await inOrder(invocation, sources, 'done', probe);
  const [first, second] = outcomes;
  if (first === undefined || second !== undefined) return printAll(invocation, outcomes);
  if ('failure' in first) throw first.failure;
  return printOne(invocation, first);
};

/** For people; with its timeline, which the answer itself does not hold. */
export async function tableOf(invocation: Invocation, source: string, envelope: Envelope): Promise<string> {
  const { terminal } = invocation;
  const text = envelopeText(terminal, source, envelope);
  if (!envelope.timeline?.success) return text;
  const [api, { timelineText }] = await Promise.all([invocation.api(), import('../output/timeline_text.ts')]);
  try {
    const params = { id: envelope.metadata.request_id };
    return text + timelineText(terminal, await api.call('GET /v1/probe/:id/timeline', { params }));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    terminal.note(`the timeline cannot be read: ${error.message}`);
    return text;
  }
}

async function printOne(
  invocation: Invocation,
  { source, value }: { source: GivenSource; value: Answered },
): Promise<ExitCode> {
  const { format, terminal } = invocation;
  if (format === 'raw') {
    await terminal.data(value.body);
    return /^\s*\{"success":false/.test(value.body.subarray(0, 64).toString()) ? EXIT.failed : EXIT.done;
  }
  const envelope = envelopeOf(value);
  if (format === 'table') await terminal.data(await tableOf(invocation, source.shown, envelope));
  else if (format === 'html') await writeReport(invocation, envelope.metadata.request_id);
  else await writeAnswer(invocation, value.body);
  return exitOf(envelope);
}

const refused = (source: GivenSource, { reason }: Failure): object => ({
  ...memberOf(source),
  success: false,
  ...reason,
});

/** As a list: each answer with the name of its source. */
async function printAll(invocation: Invocation, outcomes: readonly Outcome<Answered>[]): Promise<ExitCode> {
  const { format, terminal } = invocation;
  if (format === 'table')
    for (const one of outcomes)
      await terminal.data(
        'value' in one
          ? `${await tableOf(invocation, one.source.shown, envelopeOf(one.value))}\n`
          : `${one.source.shown}\nfailed: ${reasonText(one.failure.reason)}\n\n`,
      );
  else if (format === 'yaml')
    await terminal.data(
      await yamlText(
        outcomes.map((one) =>
          'value' in one ? { ...memberOf(one.source), ...envelopeOf(one.value) } : refused(one.source, one.failure),
        ),
      ),
    );
  else
    for (const [place, one] of outcomes.entries()) {
      const name = JSON.stringify(memberOf(one.source)).slice(0, -1);
      await terminal.data(place === 0 ? '[\n' : ',\n');
      if ('failure' in one) await terminal.data(JSON.stringify(refused(one.source, one.failure)));
      else {
        // The answer is an object: its members follow the name, byte for byte.
        await terminal.data(`${name},`);
        await terminal.data(one.value.body.subarray(one.value.body.indexOf('{') + 1));
      }
      if (place === outcomes.length - 1) await terminal.data('\n]\n');
    }
  return worst(outcomes.map((one) => ('value' in one ? exitOf(envelopeOf(one.value)) : one.failure.exitCode)));
}
export default run;

// An address goes to the tool's own endpoint; a file that is sent goes to one for all, and its answer takes that form.

type SingleTool = 'mediastreamvalidator' | 'c2pa';

function singleAnswer(envelope: Envelope, tool: SingleTool): object {
  const { success, error: failed, code, metadata } = envelope;
  const { response = null, error = failed, duration = 0, usage: billed = 0 } = envelope[tool] ?? {};
  return {
    success,
    error,
    code,
    output: response,
    metadata: { ...metadata, duration, usage: billed },
  };
}

export async function askSingle(
  invocation: Invocation,
  api: Api,
  tool: SingleTool,
  { fields, source, enveloped }: { fields: Fields; source: GivenSource; enveloped: boolean },
): Promise<Answered> {
  if (!source.file) {
    const body = { ...fields, url: source.text };
    return submit(api, { name: `POST /v1/probe/${tool}` as const, body, enveloped }, invocation);
  }
  const bare = fields['inject_output'] === true;
  const answered = await askFor(invocation, api, { ...fields, only: tool }, { source, enveloped });
  if (bare) return answered;
  const envelope = JSON.parse(answered.body.toString()) as Envelope;
  return { ...answered, body: Buffer.from(JSON.stringify(singleAnswer(envelope, tool))) };
}
