/** The responses of probe endpoints. Members printed by tools have no schema. */
import Type, { type Static, type TSchema } from 'typebox';
import { CAUSE_PATTERN, CAUSES } from '../../../base/causes.ts';
import { MOST_FIELDS } from '../../../media/compare/limits.ts';
import { ChangedFieldSchema, SummarySchema } from '../../../media/compare/schema.ts';
import { HlsReportSchema } from '../../../media/hls/schema.ts';
import { ProbeReportSchema } from '../../../media/report/schema.ts';
import { QcReportSchema } from '../../../media/qc/schema.ts';
import { QcWaivedSchema } from '../../../media/qc/waived.ts';
import { C2paReportSchema } from '../../../media/tools/c2pa_schema.ts';
import { REPORT_TOOLS } from '../../../media/tools/probe_report.ts';
import { FILE_ROWS, type ResultName, sectionOf, shownName, TOOLS } from '../../../media/tools/table.ts';
import { WAITING } from '../../../platform/kube/probe_job.ts';
import { PolicyResultSchema } from '../../../media/policy/schema.ts';
import { OUTCOMES } from '../../../media/policy/types.ts';
import { closed, component, oneOf, orNull, time, whole } from '../http/request_fields.ts';

// The schemas of what tools print, where its form is known.

interface Report {
  /** For the titles of schemas with this one. */
  title: string;
  schema: TSchema;
}

/** Of results whose schemas the runners are not to load. Other tools have theirs in the descriptor. */
const ELSEWHERE: Partial<Record<ResultName, Report>> = {
  probe_report: { title: 'ProbeReport', schema: ProbeReportSchema },
  c2pa: { title: 'C2pa', schema: C2paReportSchema },
  qc: { title: 'Qc', schema: QcReportSchema },
  msv: { title: 'Hls', schema: HlsReportSchema },
};

/** `Msv` for msv. */
export const titleOf = (name: ResultName): string => `${name[0]!.toUpperCase()}${name.slice(1)}`;

export const reportOf = ({ name, report }: { name: ResultName; report?: TSchema }): Report | undefined =>
  ELSEWHERE[name] ?? (report && { title: titleOf(name), schema: report });

export const ANY_OUTPUT = Type.Unsafe<unknown>({
  description: "The tool's own output: a JSON value if its format is JSON, else a string; null if it printed nothing.",
});

/** Also set if the body is the bare output of a tool. */
export const POLICY_OUTCOME = {
  'X-Policy-Outcome': { description: 'With `policy`: the outcome.', schema: oneOf(OUTCOMES) },
};

const OriginUseSchema = component('OriginUse', {
  requests: whole('Requests to the origin.'),
  connections: whole('Connections that were opened for them.'),
  bytes: whole('Bytes that it read. Those that several tools read count to the one that first asked for them.'),
  ms: whole('Milliseconds in which the tool, or the runner for it, waited for the origin.'),
});

/** Of `metadata`, by tool. */
const OriginSchema = Type.Optional(
  closed(Object.fromEntries(TOOLS.map((tool) => [shownName(tool), Type.Optional(OriginUseSchema)])), {
    description: 'What each tool read from the origin; the bytes add up to `io_usage`. Not in older results.',
  }),
);

export const MetadataSchema = component('Metadata', {
  request_id: Type.String({ format: 'uuid' }),
  queue_time: whole('Milliseconds in the queue.'),
  io_usage: whole('Bytes that all tools together read from the origin.'),
  origin: OriginSchema,
  cache: Type.Optional(
    component(
      'FromCache',
      {
        request_id: Type.Optional(
          Type.String({ format: 'uuid', description: 'The request that read the file, if the caller may read it.' }),
        ),
        age: whole('Seconds since the file was read.'),
      },
      { description: 'Only of a result that was answered from the cache. `io_usage` is what asking the host took.' },
    ),
  ),
});

export const CAUSE_TEXT = 'See `Cause` for the codes; more may be added.';

/** Beside an error. */
export const CauseSchema = Type.Unsafe<string>({
  title: 'Cause',
  type: 'string',
  pattern: CAUSE_PATTERN,
  description: ['Why a tool failed, for programs. More codes may be added.', '']
    .concat(Object.entries(CAUSES).map(([code, text]) => `- \`${code}\`: ${text}`))
    .join('\n'),
});

const toolResult = (title: string, response: TSchema, more: Record<string, TSchema> = {}) =>
  component(title, {
    success: Type.Boolean(),
    duration: whole('Run time of the tool in milliseconds.'),
    usage: whole('Billed milliseconds.'),
    error: Type.Optional(
      Type.String({ description: "On failure only: why the source cannot be read, or the tool's own message." }),
    ),
    code: Type.Optional(CauseSchema),
    exit_code: Type.Optional(
      Type.Integer({
        description:
          'On failure only, and only if the tool was started: its exit code as a shell reports it, 128 and the ' +
          'number of the signal if one ended it.',
      }),
    ),
    response,
    ...more,
  });
const ToolResultSchema = toolResult('ToolResult', ANY_OUTPUT);

/** The output of a failed tool may be truncated: then it is a string. */
const orPrinted = (report: TSchema) => Type.Unsafe<unknown>({ anyOf: [report, { type: ['string', 'null'] }] });

const REPORTS = FILE_ROWS.flatMap((row) => reportOf(row)?.schema ?? []);

/** Members of some results beside the output. */
const BESIDE: Partial<Record<ResultName, Record<string, TSchema>>> = {
  qc: {
    waived: Type.Optional(
      Type.Array(QcWaivedSchema, { description: 'Findings that are waived now; the response has them, too.' }),
    ),
  },
};

const resultOf = (row: (typeof FILE_ROWS)[number]): TSchema => {
  const report = reportOf(row);
  return report ? toolResult(`${report.title}Result`, orPrinted(report.schema), BESIDE[row.name]) : ToolResultSchema;
};

/** Beside `success`. */
export const FAILURE = {
  error: Type.Optional(Type.String({ description: 'On failure only.' })),
  code: Type.Optional(CauseSchema),
};

/** The timeline itself has an endpoint of its own. */
const TimelineResultSchema = component(
  'TimelineResult',
  {
    success: Type.Boolean(),
    duration: whole('Run time of ffprobe over all packets, in milliseconds.'),
    usage: whole('Billed milliseconds.'),
    ...FAILURE,
  },
  { description: 'Read the timeline at `/v1/probe/{request_id}/timeline`.' },
);

export const EnvelopeSchema = component('Envelope', {
  success: Type.Boolean({ description: 'Whether at least one tool succeeded.' }),
  ...FAILURE,
  metadata: MetadataSchema,
  ...Object.fromEntries(FILE_ROWS.map((row) => [sectionOf(row), Type.Optional(resultOf(row))])),
  timeline: Type.Optional(TimelineResultSchema),
  policy: Type.Optional(PolicyResultSchema),
  tagged: Type.Optional(
    closed(
      {
        written: Type.Boolean(),
        code: Type.Optional(
          Type.String({
            description:
              'Why not: not-allowed (the operator allows none with this credential), changed (the object was ' +
              'replaced), no-room (it has too many tags), unknown (its host does not say which object was ' +
              'read), or a `Cause`.',
          }),
        ),
        message: Type.Optional(Type.String()),
      },
      { description: 'Of an item of a batch with `tag_objects`: whether the tags of its object were written.' },
    ),
  ),
});

/** Bare output of a tool that failed and printed nothing. */
export const FailedOutputSchema = component('FailedOutput', {
  success: Type.Literal(false),
  error: Type.String({ description: "Why the source cannot be read, or the tool's own message." }),
  code: Type.Optional(CauseSchema),
});

/** Never matches an envelope: anything with `success` and `metadata` must be one. */
const BareOutputSchema = Type.Unsafe<object>({
  title: 'BareOutput',
  type: 'object',
  not: { required: ['success', 'metadata'] },
  description:
    'With `only` and `inject_output`: the output of that tool, without an envelope; a ProbeReport, HlsReport, ' +
    'C2paReport or FailedOutput is one too.',
});

export const AnswerSchema = Type.Unsafe<object>({
  anyOf: [EnvelopeSchema, ...REPORTS, FailedOutputSchema, BareOutputSchema],
});

export const AcceptedSchema = component('Accepted', {
  success: Type.Literal(true),
  metadata: closed({ request_id: Type.String({ format: 'uuid' }) }),
});

const WaitingSchema = component('Waiting', { reason: oneOf(WAITING), text: Type.String() });

export const StandingSchema = component('Standing', {
  success: Type.Literal(true),
  metadata: MetadataSchema,
  state: oneOf(['queued', 'running']),
  steps: closed({
    queued: time('When the request was accepted.'),
    admitted: orNull(time('When the request left the queue; null if it has not, or if that is not known.')),
    running: orNull(time('When a runner was given the request; null if that is not known.')),
  }),
  progress: orNull(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description:
        'Percent of the declared duration that content checks have decoded, renewed every ten seconds; null in the ' +
        'first ten, without checks, or if no duration is declared.',
    }),
  ),
  waiting: Type.Unsafe<Static<typeof WaitingSchema> | null>({
    anyOf: [WaitingSchema, { type: 'null' }],
    description: 'What a queued request waits for; null if it runs, or in its first second in the queue.',
  }),
});
export type Standing = Static<typeof StandingSchema>;

// The answer of `/v1/compare`.

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
