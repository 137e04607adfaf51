/** `/v1/probe/qc`: content checks alone. A request is one of `/v1/probe/file` in which the other tools are disabled. */
import type { TObject } from 'typebox';
import { MAX_TIMEOUT_MS } from '../../../base/limits.ts';
import { FILE_ROWS, sectionOf } from '../../../media/tools/table.ts';
import type { Deps } from '../deps.ts';
import { endpoint } from '../http/endpoint.ts';
import { makeReader } from '../http/input/read_fields.ts';
import { checkedBy } from '../http/read_input.ts';
import { type Context, IGNORED_HEADER } from '../http/request_context.ts';
import { closed, options } from '../http/request_fields.ts';
import { EnvelopeSchema, POLICY_OUTCOME } from './answer_schemas.ts';
import { byQueryAndBody } from './by_query_and_body.ts';
import { probeFile } from './file_endpoints.ts';
import { type ProbeFile, ProbeFileSchema, UrlField } from './file_request.ts';
import { timeFields, WEBHOOK_FIELDS } from './request_source.ts';

const { url, file, headers, cookies, credential, cache, policy, qc } = ProbeFileSchema.properties;
const { enabled: _, ...checks } = (qc as unknown as TObject).properties;

const ProbeQcSchema = closed({
  url,
  file,
  headers,
  cookies,
  credential,
  ...timeFields(MAX_TIMEOUT_MS),
  cache,
  policy,
  ...WEBHOOK_FIELDS,
  qc: options(checks, 'The content checks.'),
});

/** ffprobe finds the streams that are checked, and shows them. */
const SHOWN = ['ffprobe', 'qc'];
const SECTIONS = FILE_ROWS.map((row) => [sectionOf(row), { enabled: SHOWN.includes(row.name) }] as const);
const asFile = makeReader<ProbeFile>(ProbeFileSchema);

const film = 'https://media.example.com/film.mp4';
const examples = {
  defaults: { summary: 'With the default thresholds', value: { url: film } },
  thresholds: { summary: 'Shorter passages, too', value: { url: film, qc: { black_min: 0.5, silence_min: 0.5 } } },
};

const { byQuery, byBody } = byQueryAndBody({
  id: 'probeQc',
  summary: 'Check the content of a media file',
  description:
    'Decodes the pictures and the sound of a source and reports black, freezes, silence, loudness, peaks and ' +
    'clipping. The same as `/v1/probe/file` with `qc` and ffprobe alone, and with a time limit that suits whole ' +
    'films. The source is read to its end.',
  schema: ProbeQcSchema,
  inQuery: { url: UrlField },
  queryExamples: examples,
  bodyExamples: examples,
  failed: 'ffprobe',
  answer: {
    description: 'The envelope of `/v1/probe/file`: `ffprobe` has the streams, `qc` the report of the checks.',
    schema: EnvelopeSchema,
    headers: {
      [IGNORED_HEADER]: { description: '`cache`, where it has no effect.', schema: { type: 'string' } },
      ...POLICY_OUTCOME,
    },
  },
});

function probe(deps: Deps, ctx: Context): Promise<void> {
  const { qc: asked, ...fields } = checkedBy(ProbeQcSchema, ctx);
  const value = { ...fields, ...Object.fromEntries(SECTIONS), qc: { ...asked, enabled: true } };
  return probeFile(deps, ctx, asFile({ form: 'json', value }));
}

export const qcByQuery = endpoint('GET /v1/probe/qc', { ...byQuery, work: probe });
export const qcByBody = endpoint('POST /v1/probe/qc', {
  ...byBody,
  upload: true,
  work: probe,
});
