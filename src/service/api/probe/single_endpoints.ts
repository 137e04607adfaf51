/**
 * The endpoint of a tool, made from its descriptor: a request becomes a job of one tool, the response is the output of
 * that tool, bare or enveloped.
 */
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { PolicyResultSchema } from '../../../media/policy/schema.ts';
import { WEB_SCHEMES } from '../../../source/protocols/table.ts';
import { ENDPOINT_ROWS, endpointPath } from '../../../media/tools/table.ts';
import type { Endpoint as ToolEndpoint } from '../../../media/tools/tool.ts';
import { endpoint, type Work } from '../http/endpoint.ts';
import { closed, component, flag, nonEmpty, orNull, whole } from '../http/request_fields.ts';
import {
  ANY_OUTPUT,
  FAILURE,
  FailedOutputSchema,
  MetadataSchema,
  POLICY_OUTCOME,
  reportOf,
  titleOf,
} from './answer_schemas.ts';
import { byQueryAndBody } from './by_query_and_body.ts';
import { askedPolicy, PolicyField } from '../policies/asked_policy.ts';
import { probeRequest } from './probe_request.ts';
import { MAX_ADDRESS, SOURCE_FIELDS, timeFields, WEBHOOK_FIELDS } from './request_source.ts';
import { runProbe } from './run_request.ts';
import { optionFields, toolRequest } from './tool_versions.ts';

const singleFields = ({ timeoutMs, injectJson }: ToolEndpoint) => ({
  url: nonEmpty(MAX_ADDRESS, `The source, with or without credentials. Schemes: ${WEB_SCHEMES.join(', ')}.`),
  ...SOURCE_FIELDS,
  ...timeFields(timeoutMs),
  inject_output: Type.Optional(
    Type.Boolean({
      description:
        'Return the bare output; false: an envelope that holds the output. Default: true; false with `policy`.',
    }),
  ),
  inject_json: flag(injectJson, 'In the envelope, `output` is an object; false: a string that holds the JSON.'),
  policy: PolicyField,
  ...WEBHOOK_FIELDS,
});

const SingleMetadataSchema = component('SingleMetadata', {
  ...MetadataSchema.properties,
  duration: whole('Run time of the tool in milliseconds.'),
  usage: whole('Billed milliseconds.'),
});

type Row = (typeof ENDPOINT_ROWS)[number];

const schemaOf = (row: Row) => closed({ ...singleFields(row.endpoint), ...optionFields(row.options) });

const envelopeOf = (row: Row, report: TSchema) =>
  component(`${titleOf(row.name)}Envelope`, {
    success: Type.Boolean(),
    ...FAILURE,
    output: Type.Unsafe<unknown>({
      anyOf: [report, { type: ['string', 'null'] }],
      description:
        "The tool's report: an object or, with `inject_json=false`, a string that holds the JSON; null " +
        'if the tool printed none.',
    }),
    ...Object.fromEntries(
      Object.entries(row.endpoint.members ?? {}).map(([name, description]) => [
        name,
        orNull(Type.String({ description })),
      ]),
    ),
    metadata: SingleMetadataSchema,
    policy: Type.Optional(PolicyResultSchema),
  });

type Fields = Static<TObject<ReturnType<typeof singleFields>>> & Record<string, unknown>;

const probe = (row: Row): Work =>
  async function probeWithTool(deps, ctx) {
    const fields = ctx.state.checked as Fields;
    const policy = await askedPolicy(deps, ctx, fields.policy);
    const injectOutput = (fields.inject_output ??= policy === null);
    const version = deps.catalog().resolve(row.name, 'latest');
    const request = probeRequest(deps, ctx, fields, {
      kind: row.name,
      tools: [toolRequest(row, fields, version, fields.timeout, (option) => option)],
      report: { enabled: false },
      policy,
      response: { single: row.name, shown: [], injectOutput, injectJson: fields.inject_json },
    });
    await runProbe(deps, ctx, request);
  };

function singleTool(row: Row) {
  const { summary, description, examples } = row.endpoint;
  const report = reportOf(row)?.schema ?? ANY_OUTPUT;
  const envelope = envelopeOf(row, report);
  const schema = schemaOf(row);
  const path = endpointPath(row);
  const { byQuery, byBody } = byQueryAndBody({
    id: `probe${titleOf(row.name)}`,
    summary,
    description,
    schema,
    queryExamples: examples,
    bodyExamples: examples,
    failed: 'the tool',
    answer: {
      description: 'The bare output or, with `inject_output=false`, the envelope.',
      schema: Type.Unsafe<object>({ anyOf: [envelope, report, FailedOutputSchema] }),
      headers: POLICY_OUTCOME,
    },
  });
  const work = probe(row);
  return {
    path,
    schema,
    envelope,
    endpoints: [endpoint(`GET ${path}`, { ...byQuery, work }), endpoint(`POST ${path}`, { ...byBody, work })],
  };
}

// In the order of the description.

export const SINGLES = ENDPOINT_ROWS.map(singleTool);
