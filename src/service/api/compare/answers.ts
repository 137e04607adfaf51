/** What a comparison answers, as it is described. */
import Type from 'typebox';
import { MOST_FIELDS } from '../../../media/compare/limits.ts';
import { ChangedFieldSchema, SummarySchema } from '../../../media/compare/schema.ts';
import { REPORT_TOOLS } from '../../../media/tools/probe_report.ts';
import { OriginSchema } from '../probe/description/answers.ts';

const milliseconds = (description: string) => Type.Integer({ minimum: 0, description });

const RunSchema = Type.Object(
  {
    run: Type.String({
      description: 'Its name among the values of a field: the version; of two sources or requests, `a` or `b`.',
    }),
    tool: Type.Unsafe<string>({ type: 'string', enum: [...REPORT_TOOLS] }),
    version: Type.String(),
    build: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'What the binary says of itself; null where that is not known.',
    }),
    success: Type.Boolean(),
    duration: milliseconds('Run time in milliseconds.'),
    usage: milliseconds('Billed milliseconds.'),
    error: Type.Optional(Type.String({ description: 'On failure only.' })),
  },
  { title: 'ComparedRun', additionalProperties: false },
);

export const ComparisonAnswerSchema = Type.Object(
  {
    success: Type.Boolean({ description: 'Whether two runs of one tool succeeded.' }),
    error: Type.Optional(Type.String({ description: 'On failure only.' })),
    metadata: Type.Object(
      {
        request_id: Type.Optional(Type.String({ format: 'uuid', description: 'Of the request that ran the tools.' })),
        request_ids: Type.Optional(
          Type.Array(Type.String({ format: 'uuid' }), { description: 'Of two requests on record: `a`, then `b`.' }),
        ),
        queue_time: milliseconds('Milliseconds in the queue.'),
        io_usage: Type.Integer({ minimum: 0, description: 'Bytes that all runs together read from the origin.' }),
        origin: OriginSchema,
      },
      { title: 'ComparisonMetadata', additionalProperties: false },
    ),
    runs: Type.Array(RunSchema),
    fields: Type.Array(ChangedFieldSchema, { maxItems: MOST_FIELDS }),
    summary: SummarySchema,
  },
  { title: 'ComparisonAnswer', additionalProperties: false },
);
