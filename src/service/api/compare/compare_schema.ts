/** What `/v1/compare` takes and answers: validated, typed and described by this alone. */
import Type from 'typebox';
import { MOST_TOOLS } from '../../../platform/kube/probe_job.ts';
import { MAX_TIMEOUT_MS, TIMEOUT_MS, TOOL_TIMEOUT_MS } from '../../../base/limits.ts';
import { SCHEMES } from '../../../source/protocols/table.ts';
import { REPORT_TOOLS, type ReportTool } from '../../../media/tools/probe_report.ts';
import { TOOL_TABLE } from '../../../media/tools/table.ts';
import { closed, component, milliseconds, oneOf, optionalText, orNull, UUID, whole } from '../http/request_fields.ts';
import { MAX_SHARED_NAME } from '../policies/asked_policy.ts';
import { SOURCE_FIELDS, timeFields } from '../probe/request_source.ts';
import { optionFields } from '../probe/tool_options.ts';
import { MOST_FIELDS } from '../../../media/compare/limits.ts';
import { ChangedFieldSchema, SummarySchema } from '../../../media/compare/schema.ts';
import { FAILURE, OriginSchema } from '../probe/answer_schemas.ts';

/** What a request says of one tool. */
export interface AskedVersions extends Record<string, unknown> {
  /** Of one source. */
  versions?: string[];
  /** Of two sources. */
  version?: string;
  timeout: number;
}

function versionsOf(name: ReportTool) {
  return Type.Optional(
    Type.Unsafe<AskedVersions>(
      closed(
        {
          versions: Type.Optional(
            Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
              minItems: 2,
              maxItems: MOST_TOOLS,
              uniqueItems: true,
              description:
                `With \`url\`: versions of ${name}, in the order in which they are compared: ` +
                '`["4.4", "7.1"]`; in a form `4.4,7.1`.',
            }),
          ),
          version: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 64,
              description: `With \`urls\`: the version of ${name} that reads both sources. Default: latest.`,
            }),
          ),
          timeout: milliseconds(
            TOOL_TIMEOUT_MS,
            MAX_TIMEOUT_MS,
            'Time limit of each run in milliseconds; at most that of the request.',
          ),
          ...optionFields(TOOL_TABLE[name]?.options ?? []),
        },
        { description: `Versions of ${name}, and options for all of its runs. A tool that is not named does not run.` },
      ),
    ),
  );
}

const tools = Object.fromEntries(REPORT_TOOLS.map((name) => [name, versionsOf(name)])) as Record<
  ReportTool,
  ReturnType<typeof versionsOf>
>;

const requestId = Type.String({ pattern: UUID, description: 'The id of a request.' });

export const CompareSchema = closed({
  url: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 8192,
      description: `The source, with or without credentials. Schemes: ${SCHEMES.join(', ')}.`,
      examples: ['https://media.example.com/film.mp4'],
    }),
  ),
  urls: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 8192 }), {
      minItems: 2,
      maxItems: 2,
      description:
        'Instead of `url`: two sources, `a` and `b`. Each tool runs at one version on both; without a tool, ' +
        'ffprobe and mediainfo do.',
      examples: [['https://media.example.com/film.mp4', 'https://media.example.com/film-2.mp4']],
    }),
  ),
  ...SOURCE_FIELDS,
  request_ids: Type.Optional(
    Type.Array(requestId, {
      minItems: 2,
      maxItems: 2,
      uniqueItems: true,
      description: 'Instead of `url`: two requests of `/v1/probe/file` on record, whose results are compared.',
    }),
  ),
  ...tools,
  ...timeFields(
    TIMEOUT_MS,
    'Time limit of all runs together in milliseconds, counted from admission; two run at a time. Of two sources, ' +
      'the first has half of it.',
  ),
  webhook_url: optionalText(8192, 'The response is 202 at once, and the comparison is sent to this address.'),
});

/** Comparisons that one report is made of. */
const MOST_COMPARISONS = 1_000;
/** By which each of them is judged. */
const MOST_POLICIES = 5;

export const CompareReportSchema = closed({
  request_ids: Type.Array(requestId, {
    minItems: 1,
    maxItems: MOST_COMPARISONS,
    uniqueItems: true,
    description: 'Comparisons of `POST /v1/compare` on record.',
  }),
  policies: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: MAX_SHARED_NAME }), {
      minItems: 1,
      maxItems: MOST_POLICIES,
      uniqueItems: true,
      description: 'Names of policies: the report tells on how many files their outcome changes.',
    }),
  ),
});

const RunSchema = component('ComparedRun', {
  run: Type.String({
    description: 'Its name among the values of a field: the version; of two sources or requests, `a` or `b`.',
  }),
  tool: oneOf<string>(REPORT_TOOLS),
  version: Type.String(),
  build: orNull(Type.String({ description: 'What the binary says of itself; null where that is not known.' })),
  success: Type.Boolean(),
  duration: whole('Run time in milliseconds.'),
  usage: whole('Billed milliseconds.'),
  ...FAILURE,
});

export const ComparisonAnswerSchema = component('ComparisonAnswer', {
  success: Type.Boolean({ description: 'Whether two runs of one tool succeeded.' }),
  ...FAILURE,
  metadata: component('ComparisonMetadata', {
    request_id: Type.Optional(Type.String({ format: 'uuid', description: 'Of the request that ran the tools.' })),
    request_ids: Type.Optional(
      Type.Array(Type.String({ format: 'uuid' }), { description: 'Of two requests on record: `a`, then `b`.' }),
    ),
    queue_time: whole('Milliseconds in the queue.'),
    io_usage: whole('Bytes that all runs together read from the origin.'),
    origin: OriginSchema,
  }),
  runs: Type.Array(RunSchema),
  fields: Type.Array(ChangedFieldSchema, { maxItems: MOST_FIELDS }),
  summary: SummarySchema,
});
