/** `/v1/probe/file`: several tools on one source. */
import Type from 'typebox';
import { type Context, IGNORED_HEADER, nameIgnored } from '../http/request_context.ts';
import { fileRequest, type ProbeFile, ProbeFileSchema, takeIgnored, UrlField } from './file_request.ts';
import { AnswerSchema, POLICY_OUTCOME } from './answer_schemas.ts';
import { byQueryAndBody } from './by_query_and_body.ts';
import type { Examples, Response } from '../openapi/operation.ts';
import { runProbe } from './run_request.ts';
import type { Deps } from '../deps.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';

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
  headers: {
    [IGNORED_HEADER]: {
      description:
        'Fields that were accepted and ignored: unknown members of `mediastreamvalidator`, ' +
        '`mediastreamvalidator` itself if the source is not an HLS playlist, and `cache` where it has no effect.',
      schema: Type.String(),
    },
    ...POLICY_OUTCOME,
  },
};

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

const FILE = byQueryAndBody({
  id: 'probeFile',
  summary: 'Probe a media file',
  description: DESCRIPTION,
  schema: ProbeFileSchema,
  inQuery: { url: UrlField },
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
  bodyExamples: BODY_EXAMPLES,
  failed: 'the first tool',
  answer: answered,
});

export async function probeFile(deps: Deps, ctx: Context, fields: ProbeFile): Promise<void> {
  nameIgnored(ctx, takeIgnored(fields));
  const request = await fileRequest(deps, ctx, fields);
  if (fields.cache.max_age && !request.cache) nameIgnored(ctx, ['cache']);
  await runProbe(deps, ctx, request);
}

const probe = (deps: Deps, ctx: Context): Promise<void> => probeFile(deps, ctx, checkedBy(ProbeFileSchema, ctx));

export const fileByQuery = endpoint('GET /v1/probe/file', { ...FILE.byQuery, work: probe });
export const fileByBody = endpoint('POST /v1/probe/file', {
  ...FILE.byBody,
  upload: true,
  work: probe,
});
