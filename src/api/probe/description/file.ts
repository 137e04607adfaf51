/** How `/v1/probe/file` is described. */
import Type from 'typebox';
import { ProbeFileSchema } from '../schema/file.ts';
import { AcceptedSchema, AnswerSchema } from './answers.ts';
import type { Described } from '../../http/endpoint.ts';
import type { Examples, Response } from '../../openapi/operation.ts';

const DESCRIPTION = [
  'Runs ffprobe, mediainfo and the report that compares them on one source, each at the requested version, ' +
    'and returns their results.',
  'A failed tool reports its failure in its own result; `success` is true if at least one tool succeeded. ' +
    'If all tools that read the source failed because its origin is unreachable, the status is 404.',
  'The request is cancelled when the caller disconnects.',
].join('\n\n');

const text = Type.String();
const answered: Response = {
  description:
    'The envelope or, with `only` and `inject_output`, the bare output of that tool in the media type of its format.',
  schema: AnswerSchema,
  otherTypes: { 'text/plain': text, 'text/csv': text, 'text/html': text, 'application/xml': text },
  headers: { 'X-Ignored-Fields': { description: 'Fields that were accepted and ignored.', schema: Type.String() } },
};

const { webhook_url: _, ...inQuery } = ProbeFileSchema.properties;
/** A webhook is for a POST. */
const QuerySchema = Type.Object(inQuery, { additionalProperties: false });

const common = {
  tag: 'probe',
  summary: 'Probe a media file',
  description: DESCRIPTION,
  rate: 'request',
  answer: answered,
  errors: {
    404: 'The source is not accessible; the text is that of the first tool.',
    429: 'The token exceeds its rate limit, or the request waited too long in the queue.',
  },
} as const satisfies Partial<Described>;

const film = 'https://media.example.com/film.mp4';

const BODY_EXAMPLES: Examples = {
  everything: { summary: 'Both tools and the report', value: { url: film } },
  versions: {
    summary: 'Named versions and options',
    value: {
      url: film,
      ffprobe: { version: '4.3', show_frames: true, select_streams: 'v:0' },
      mediainfo: { enabled: false },
      probe_report: { enabled: false },
    },
  },
  bare: {
    summary: 'The bare output of one tool',
    value: { url: film, only: 'mediainfo', inject_output: true, mediainfo: { output: 'XML' } },
  },
  oneDocument: { summary: 'One document', value: { url: film, inject_json: true } },
  s3: { summary: 'An object in S3', value: { url: 's3://AKIAIOSFODNN7EXAMPLE:secret/with/slashes@bucket/film.mp4' } },
};

export const FILE_BY_QUERY: Described = {
  ...common,
  id: 'probeFileByQuery',
  query: QuerySchema,
  input: ProbeFileSchema,
  queryExamples: {
    everything: { summary: 'Both tools and the report', value: { url: film } },
    versions: {
      summary: 'Named versions and options',
      value: {
        url: film,
        ffprobe: { version: '4.3', show_frames: true },
        mediainfo: { version: '23.11', output: 'JSON' },
      },
    },
    bare: {
      summary: 'The bare output of one tool',
      value: { url: film, only: 'ffprobe', inject_output: true, ffprobe: { output_format: 'csv' } },
    },
  },
};

export const FILE_BY_BODY: Described = {
  ...common,
  id: 'probeFile',
  headers: {
    'Idempotency-Key': {
      description: 'A repeated request with the same key and body gets the result of the first one.',
      schema: Type.String({ minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' }),
    },
  },
  body: ProbeFileSchema,
  bodyExamples: BODY_EXAMPLES,
  answers: {
    202: { description: 'With `webhook_url`: accepted; the envelope is sent to that address.', schema: AcceptedSchema },
  },
};
