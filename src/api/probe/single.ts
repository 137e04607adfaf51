/**
 * Common parts of endpoints that run one tool: a request becomes a job of one tool, the response is that tool's output,
 * bare or enveloped.
 */
import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import { MAX_QUEUE_MS, MAX_TIMEOUT_MS } from '../../limits.ts';
import { PolicyResultSchema } from '../../policy/schema.ts';
import { WEB_SCHEMES } from '../../source/protocols/table.ts';
import type { EndpointTool } from '../../tools/table.ts';
import type { Endpoint as ToolEndpoint } from '../../tools/tool.ts';
import { endpoint, type Endpoint, type EndpointName, type Work } from '../http/endpoint.ts';
import { flag, milliseconds, optionalText } from '../http/fields.ts';
import type { Examples } from '../openapi/operation.ts';
import { FailedOutputSchema, MetadataSchema, POLICY_OUTCOME } from './description/answers.ts';
import { byQueryAndBody } from './description/by_query_and_body.ts';
import { askedPolicy, PolicyField } from './policy.ts';
import { probeRequest } from './request.ts';
import { runProbe } from './run.ts';

export const singleFields = ({ timeoutMs, injectJson }: ToolEndpoint) => ({
  url: Type.String({
    minLength: 1,
    maxLength: 8192,
    description: `The source, with or without credentials. Schemes: ${WEB_SCHEMES.join(', ')}.`,
  }),
  timeout: milliseconds(
    timeoutMs,
    MAX_TIMEOUT_MS,
    'Time limit of the analysis in milliseconds, counted from admission; time in the queue is not included.',
  ),
  queue_timeout: milliseconds(MAX_QUEUE_MS, MAX_QUEUE_MS, 'Maximum time in the queue, in milliseconds.'),
  inject_output: Type.Optional(
    Type.Boolean({
      description:
        'Return the bare output; false: an envelope that holds the output. Default: true; false with `policy`.',
    }),
  ),
  inject_json: flag(injectJson, 'In the envelope, `output` is an object; false: a string that holds the JSON.'),
  policy: PolicyField,
  webhook_url: optionalText(8192, 'POST only: the response is 202 at once, and the envelope is sent to this address.'),
});

const SingleMetadataSchema = Type.Object(
  {
    ...MetadataSchema.properties,
    duration: Type.Integer({ minimum: 0, description: 'Run time of the tool in milliseconds.' }),
    usage: Type.Integer({ minimum: 0, description: 'Billed milliseconds.' }),
  },
  { title: 'SingleMetadata', additionalProperties: false },
);

/** `own`: members of this tool only. */
export const enveloped = (title: string, report: TSchema, own: TProperties = {}) =>
  Type.Object(
    {
      success: Type.Boolean(),
      error: Type.Optional(Type.String({ description: 'On failure only.' })),
      output: Type.Unsafe<unknown>({
        anyOf: [report, { type: ['string', 'null'] }],
        description:
          "The tool's report: an object or, with `inject_json=false`, a string that holds the JSON; null " +
          'if the tool printed none.',
      }),
      ...own,
      metadata: SingleMetadataSchema,
      policy: Type.Optional(PolicyResultSchema),
    },
    { title, additionalProperties: false },
  );

export interface Single<T extends TObject> {
  tool: EndpointTool;
  /** `/v1/probe/…` */
  path: string;
  id: string;
  summary: string;
  description: string;
  schema: T;
  envelope: TSchema;
  /** The bare output. */
  report: TSchema;
  examples: Examples;
  /** Options for the tool, as texts. */
  options?(fields: Static<T>): Record<string, string>;
}

const probe = <T extends TObject>({ tool, options = () => ({}) }: Single<T>): Work =>
  async function probeWithTool(deps, ctx) {
    const fields = ctx.state.checked as Static<T> & Static<TObject<ReturnType<typeof singleFields>>>;
    const policy = await askedPolicy(deps, ctx, fields.policy);
    const injectOutput = (fields.inject_output ??= policy === null);
    const texts = options(fields);
    const { version } = deps.catalog().resolve(tool, 'latest');
    const ran = { name: tool, version, timeoutMs: fields.timeout };
    const request = probeRequest(deps, ctx, fields, {
      kind: tool,
      tools: [Object.keys(texts).length > 0 ? { ...ran, options: texts } : ran],
      report: { enabled: false },
      policy,
      response: { single: tool, shown: [], injectOutput, injectJson: fields.inject_json },
    });
    await runProbe(deps, ctx, request);
  };

export function singleTool<T extends TObject>(single: Single<T>): { endpoints: Endpoint[]; envelope: TSchema } {
  const { path, id, summary, description, schema, envelope, report, examples } = single;
  const { byQuery, byBody } = byQueryAndBody({
    id,
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
  const work = probe(single);
  return {
    endpoints: [
      endpoint(`GET ${path}` as EndpointName, byQuery, work),
      endpoint(`POST ${path}` as EndpointName, byBody, work),
    ],
    envelope,
  };
}
