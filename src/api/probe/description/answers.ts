/** What the probe endpoints answer with. Members that tools print are theirs: no schema holds them. */
import Type from 'typebox';
import { FILE_TOOLS } from '../../../tools/table.ts';

const milliseconds = (description: string) => Type.Integer({ minimum: 0, description });

export const MetadataSchema = Type.Object(
  {
    request_id: Type.String({ format: 'uuid' }),
    queue_time: milliseconds('Milliseconds in the queue.'),
    io_usage: Type.Integer({ minimum: 0, description: 'Bytes that all tools together read from the origin.' }),
  },
  { title: 'Metadata', additionalProperties: false },
);

const ToolResultSchema = Type.Object(
  {
    success: Type.Boolean(),
    duration: milliseconds('Run time of the tool in milliseconds.'),
    usage: milliseconds('Billed milliseconds.'),
    error: Type.Optional(Type.String({ description: "On failure only: the tool's own message and its exit code." })),
    response: Type.Unsafe<unknown>({
      description:
        "The tool's own output: a JSON value if its format is JSON, else a string; null if it printed nothing.",
    }),
  },
  { title: 'ToolResult', additionalProperties: false },
);

export const EnvelopeSchema = Type.Object(
  {
    success: Type.Boolean({ description: 'Whether at least one tool succeeded.' }),
    error: Type.Optional(Type.String({ description: 'On failure only.' })),
    metadata: MetadataSchema,
    ...Object.fromEntries(FILE_TOOLS.map((name) => [name, Type.Optional(ToolResultSchema)])),
  },
  { title: 'Envelope', additionalProperties: false },
);

/** Never taken for an envelope: what has a success and metadata must be one. */
const BareOutputSchema = Type.Unsafe<object>({
  title: 'BareOutput',
  type: 'object',
  not: { required: ['success', 'metadata'] },
  description:
    'With `only` and `inject_output`: the output of that tool, without an envelope. A tool that failed ' +
    'without output gives `{success: false, error}`.',
});

export const AnswerSchema = Type.Unsafe<object>({ anyOf: [EnvelopeSchema, BareOutputSchema] });

export const AcceptedSchema = Type.Object(
  {
    success: Type.Literal(true),
    metadata: Type.Object({ request_id: Type.String({ format: 'uuid' }) }, { additionalProperties: false }),
  },
  { title: 'Accepted', additionalProperties: false },
);

export const StandingSchema = Type.Object(
  {
    success: Type.Literal(true),
    metadata: MetadataSchema,
    state: Type.Unsafe<'queued' | 'running'>({ type: 'string', enum: ['queued', 'running'] }),
  },
  { title: 'Standing', additionalProperties: false },
);
