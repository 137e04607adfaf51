/** How the endpoints of one tool are described. */
import Type, { type TProperties } from 'typebox';
import { ProbeC2paSchema, ProbeMsvSchema } from '../schema/single.ts';
import { AcceptedSchema, MetadataSchema } from './answers.ts';
import type { Described } from '../../http/endpoint.ts';
import type { Examples } from '../../openapi/operation.ts';

const SingleMetadataSchema = Type.Object(
  {
    ...MetadataSchema.properties,
    duration: Type.Integer({ minimum: 0, description: 'Run time of the tool in milliseconds.' }),
    usage: Type.Integer({ minimum: 0, description: 'Billed milliseconds.' }),
  },
  { title: 'SingleMetadata', additionalProperties: false },
);

const enveloped = (title: string, own: TProperties) =>
  Type.Object(
    {
      success: Type.Boolean(),
      error: Type.Optional(Type.String({ description: 'On failure only.' })),
      output: Type.Unsafe<unknown>({
        type: ['object', 'string', 'null'],
        description:
          "The tool's report: an object or, with `inject_json=false`, a string that holds the JSON; null " +
          'if the tool printed none.',
      }),
      ...own,
      metadata: SingleMetadataSchema,
    },
    { title, additionalProperties: false },
  );

const failed = {
  success: Type.Optional(Type.Boolean()),
  error: Type.Optional(Type.String({ description: 'On failure only.' })),
};

export const C2paEnvelopeSchema = enveloped('C2paEnvelope', {});
export const MsvEnvelopeSchema = enveloped('MsvEnvelope', {
  cli_output: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The report as text for a terminal, if requested.',
  }),
});

/** Further members are the library's own, and grow with its versions. */
const C2paReportSchema = Type.Object(
  {
    ...failed,
    active_manifest: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'Label of the active manifest; null if the file has none.',
      }),
    ),
    manifests: Type.Optional(
      Type.Unsafe<object>({ type: 'object', description: 'All manifests of the file, by label.' }),
    ),
    validation_state: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        enum: ['Invalid', 'Valid', 'Trusted', null],
        description: 'Null if there is no manifest.',
      }),
    ),
    validation_results: Type.Optional(
      Type.Unsafe<object | null>({
        type: ['object', 'null'],
        description: 'Results of the checks, passed and failed.',
      }),
    ),
  },
  { title: 'C2paReport' },
);

const message = Type.Object(
  {
    level: Type.Unsafe<string>({ type: 'string', enum: ['must-fix', 'should-fix', 'info'] }),
    code: Type.String(),
    rule: Type.String(),
    message: Type.String(),
    url: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    line: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  },
  { title: 'MsvMessage', required: ['level', 'code', 'message'] },
);
const MsvReportSchema = Type.Object(
  {
    ...failed,
    cli_output: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] })),
    tool: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    reference_version: Type.Optional(Type.String()),
    playlists: Type.Optional(Type.Array(Type.Unsafe<object>({ type: 'object' }))),
    variants: Type.Optional(Type.Array(Type.Unsafe<object>({ type: 'object' }))),
    messages: Type.Optional(Type.Array(message)),
    summary: Type.Optional(Type.Unsafe<object>({ type: 'object' })),
  },
  { title: 'MsvReport' },
);

interface Both {
  byQuery: Described;
  byBody: Described;
}

function both(
  { name, summary, description }: { name: string; summary: string; description: string },
  schema: typeof ProbeMsvSchema | typeof ProbeC2paSchema,
  answer: object,
  examples: Examples,
): Both {
  const common = {
    tag: 'probe',
    summary,
    description,
    rate: 'request',
    answer: {
      description: 'The bare output or, with `inject_output=false`, the envelope.',
      schema: Type.Unsafe<object>(answer),
    },
    errors: {
      404: 'The source is not accessible; the text is that of the tool.',
      429: 'The token exceeds its rate limit, or the request waited too long in the queue.',
    },
  } as const satisfies Partial<Described>;
  const { webhook_url: _, ...inQuery } = schema.properties;
  return {
    byQuery: {
      ...common,
      id: `${name}ByQuery`,
      query: Type.Object(inQuery as TProperties, { additionalProperties: false }),
      input: schema,
      queryExamples: examples,
    },
    byBody: {
      ...common,
      id: name,
      headers: {
        'Idempotency-Key': {
          description: 'A repeated request with the same key and body gets the result of the first one.',
          schema: Type.String({ minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' }),
        },
      },
      body: schema,
      bodyExamples: examples,
      answers: {
        202: {
          description: 'With `webhook_url`: accepted; the envelope is sent to that address.',
          schema: AcceptedSchema,
        },
      },
    },
  };
}

const photo = 'https://media.example.com/photo.jpg';
const stream = 'https://media.example.com/live/master.m3u8';

export const MSV = both(
  {
    name: 'probeMsv',
    summary: 'Validate an HLS stream',
    description:
      "Validates an HLS stream against RFC 8216, its successor and Apple's authoring specification. A " +
      'stream that breaks a must-fix rule has `success: false`, with status 200.',
  },
  ProbeMsvSchema,
  { anyOf: [MsvEnvelopeSchema, MsvReportSchema] },
  {
    bare: { summary: 'The bare report', value: { url: stream } },
    measured: {
      summary: 'Segments are measured too, and the report is also returned as text',
      value: { url: stream, parse_playlist_only: false, enable_cli_output: true, inject_output: false },
    },
  },
);

export const C2PA = both(
  {
    name: 'probeC2pa',
    summary: 'Check the C2PA manifest of a file',
    description:
      'Reads and validates the C2PA manifest store of a file: JPEG, PNG, AVIF, HEIC, HEIF, DNG, TIFF, ' +
      'WebP, MP4, MOV, AVI, MP3, M4A, WAV, PDF, SVG. A file without a manifest is a success with a null ' +
      '`active_manifest`; a file with an Invalid manifest is a success too. Only the source is fetched.',
  },
  ProbeC2paSchema,
  { anyOf: [C2paEnvelopeSchema, C2paReportSchema] },
  {
    bare: { summary: 'The bare report', value: { url: photo } },
    enveloped: {
      summary: 'Enveloped, the report as an object',
      value: { url: photo, inject_output: false, inject_json: true },
    },
  },
);
