/** A file that is sent goes to one endpoint; its answer takes the form of that of the tool's own endpoint. */
import type { Envelope } from '../../api_types.ts';
import type { Api } from '../api/api.ts';
import type { Answered } from '../api/http.ts';
import type { Invocation } from '../command.ts';
import type { GivenSource } from '../given_source.ts';
import { askFor } from './probe.ts';

export type SingleTool = 'mediastreamvalidator' | 'c2pa';

function singleAnswer(envelope: Envelope, tool: SingleTool): object {
  const { success, error: failed, metadata } = envelope;
  const { response = null, error = failed, duration = 0, usage = 0 } = envelope[tool] ?? {};
  return {
    success,
    ...(error === undefined ? {} : { error }),
    output: response,
    metadata: { ...metadata, duration, usage },
  };
}

export async function askSingle(
  invocation: Invocation,
  api: Api,
  tool: SingleTool,
  { fields, source, enveloped }: { fields: Record<string, unknown>; source: GivenSource; enveloped: boolean },
): Promise<Answered> {
  const bare = fields['inject_output'] === true;
  const answered = await askFor(invocation, api, { ...fields, only: tool }, { source, enveloped });
  if (bare) return answered;
  const envelope = JSON.parse(answered.body.toString()) as Envelope;
  return { ...answered, body: Buffer.from(JSON.stringify(singleAnswer(envelope, tool))) };
}
