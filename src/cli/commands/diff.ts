import type { Api } from '../api/api.ts';
import type { Body } from '../../api_calls.ts';
import type { Envelope } from '../../api_types.ts';
import type { Invocation, Run } from '../command.ts';
import { EXIT, Failure } from '../failure.ts';
import { givenSource } from '../given_source.ts';
import { comparedExit, printComparison } from './compare.ts';
import { askFor, fileRequest } from './probe.ts';

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A request on record, or a source that is probed for it. */
async function requestOf(invocation: Invocation, api: Api, text: string): Promise<string> {
  if (ID.test(text)) return text.toLowerCase();
  const source = await givenSource(text);
  const { body } = await askFor(invocation, api, await fileRequest(invocation), { source });
  const { success, error, metadata } = JSON.parse(body.toString()) as Envelope;
  if (!success) throw new Failure(`${source.shown}: ${error ?? 'no tool could read it'}`, EXIT.unknown);
  return metadata.request_id;
}

const run: Run = async (invocation) => {
  const api = await invocation.api();
  const [a, b] = invocation.positionals as [string, string];
  const ids = [await requestOf(invocation, api, a), await requestOf(invocation, api, b)];
  const { body } = await api.ask('POST /v1/compare', { body: { request_ids: ids } as Body<'POST /v1/compare'> });
  return comparedExit(await printComparison(invocation, body), EXIT.failed);
};
export default run;
