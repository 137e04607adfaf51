/** The responses of probe endpoints. Members printed by tools have no schema. */
import Type, { type Static, type TSchema } from 'typebox';
import { CAUSE_PATTERN, CAUSES } from '../../../base/causes.ts';
import { HlsReportSchema } from '../../../media/hls/schema.ts';
import { ProbeReportSchema } from '../../../media/report/schema.ts';
import { C2paReportSchema } from '../../../media/tools/c2pa_schema.ts';
import { FILE_ROWS, type ResultName, sectionOf, shownName, TOOLS } from '../../../media/tools/table.ts';
import { WAITING, type WaitingCause } from '../../../platform/kube/probe_job.ts';
import { PolicyResultSchema } from '../../../media/policy/schema.ts';
import { OUTCOMES, type Outcome } from '../../../media/policy/types.ts';

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
  'X-Policy-Outcome': {
    description: 'With `policy`: the outcome.',
    schema: Type.Unsafe<Outcome>({ type: 'string', enum: [...OUTCOMES] }),
  },
};

const milliseconds = (description: string) => Type.Integer({ minimum: 0, description });

const count = (description: string) => Type.Integer({ minimum: 0, description });

const OriginUseSchema = Type.Object(
  {
    requests: count('Requests to the origin.'),
    connections: count('Connections that were opened for them.'),
    bytes: count('Bytes that it read. Those that several tools read count to the one that first asked for them.'),
    ms: count('Milliseconds in which the tool, or the runner for it, waited for the origin.'),
  },
  { title: 'OriginUse', additionalProperties: false },
);

/** Of `metadata`, by tool. */
export const OriginSchema = Type.Optional(
  Type.Object(Object.fromEntries(TOOLS.map((tool) => [shownName(tool), Type.Optional(OriginUseSchema)])), {
    description: 'What each tool read from the origin; the bytes add up to `io_usage`. Not in older results.',
    additionalProperties: false,
  }),
);

export const MetadataSchema = Type.Object(
  {
    request_id: Type.String({ format: 'uuid' }),
    queue_time: milliseconds('Milliseconds in the queue.'),
    io_usage: Type.Integer({ minimum: 0, description: 'Bytes that all tools together read from the origin.' }),
    origin: OriginSchema,
  },
  { title: 'Metadata', additionalProperties: false },
);

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

const toolResult = (title: string, response: TSchema) =>
  Type.Object(
    {
      success: Type.Boolean(),
      duration: milliseconds('Run time of the tool in milliseconds.'),
      usage: milliseconds('Billed milliseconds.'),
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
    },
    { title, additionalProperties: false },
  );
const ToolResultSchema = toolResult('ToolResult', ANY_OUTPUT);

/** The output of a failed tool may be truncated: then it is a string. */
const orPrinted = (report: TSchema) => Type.Unsafe<unknown>({ anyOf: [report, { type: ['string', 'null'] }] });

const REPORTS = FILE_ROWS.flatMap((row) => reportOf(row)?.schema ?? []);

const resultOf = (row: (typeof FILE_ROWS)[number]): TSchema => {
  const report = reportOf(row);
  return report ? toolResult(`${report.title}Result`, orPrinted(report.schema)) : ToolResultSchema;
};

/** The timeline itself has an endpoint of its own. */
const TimelineResultSchema = Type.Object(
  {
    success: Type.Boolean(),
    duration: milliseconds('Run time of ffprobe over all packets, in milliseconds.'),
    usage: milliseconds('Billed milliseconds.'),
    error: Type.Optional(Type.String({ description: 'On failure only.' })),
    code: Type.Optional(CauseSchema),
  },
  {
    title: 'TimelineResult',
    additionalProperties: false,
    description: 'Read the timeline at `/v1/probe/{request_id}/timeline`.',
  },
);

export const EnvelopeSchema = Type.Object(
  {
    success: Type.Boolean({ description: 'Whether at least one tool succeeded.' }),
    error: Type.Optional(Type.String({ description: 'On failure only.' })),
    code: Type.Optional(CauseSchema),
    metadata: MetadataSchema,
    ...Object.fromEntries(FILE_ROWS.map((row) => [sectionOf(row), Type.Optional(resultOf(row))])),
    timeline: Type.Optional(TimelineResultSchema),
    policy: Type.Optional(PolicyResultSchema),
  },
  { title: 'Envelope', additionalProperties: false },
);

/** Bare output of a tool that failed and printed nothing. */
export const FailedOutputSchema = Type.Object(
  {
    success: Type.Literal(false),
    error: Type.String({ description: "Why the source cannot be read, or the tool's own message." }),
    code: Type.Optional(CauseSchema),
  },
  { title: 'FailedOutput', additionalProperties: false },
);

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

export const AcceptedSchema = Type.Object(
  {
    success: Type.Literal(true),
    metadata: Type.Object({ request_id: Type.String({ format: 'uuid' }) }, { additionalProperties: false }),
  },
  { title: 'Accepted', additionalProperties: false },
);

const time = (description: string) => Type.String({ format: 'date-time', description });
const timeOrNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description });

const WaitingSchema = Type.Object(
  {
    reason: Type.Unsafe<WaitingCause>({ type: 'string', enum: [...WAITING] }),
    text: Type.String(),
  },
  { title: 'Waiting', additionalProperties: false },
);

export const StandingSchema = Type.Object(
  {
    success: Type.Literal(true),
    metadata: MetadataSchema,
    state: Type.Unsafe<'queued' | 'running'>({ type: 'string', enum: ['queued', 'running'] }),
    steps: Type.Object(
      {
        queued: time('When the request was accepted.'),
        admitted: timeOrNull('When the request left the queue; null if it has not, or if that is not known.'),
        running: timeOrNull('When a runner was given the request; null if that is not known.'),
      },
      { additionalProperties: false },
    ),
    waiting: Type.Unsafe<Static<typeof WaitingSchema> | null>({
      anyOf: [WaitingSchema, { type: 'null' }],
      description: 'What a queued request waits for; null if it runs, or in its first second in the queue.',
    }),
  },
  { title: 'Standing', additionalProperties: false },
);
export type Standing = Static<typeof StandingSchema>;
