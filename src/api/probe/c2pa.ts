/** `GET|POST /v1/probe/c2pa`: the contents and the validity of a file's C2PA manifest. */
import Type from 'typebox';
import { c2pa } from '../../tools/c2pa.ts';
import { C2paReportSchema } from '../../tools/c2pa_schema.ts';
import { enveloped, singleFields, singleTool } from './single.ts';

export const ProbeC2paSchema = Type.Object(singleFields(c2pa.endpoint), { additionalProperties: false });

const photo = 'https://media.example.com/photo.jpg';

export const probeC2pa = singleTool({
  tool: c2pa.name,
  path: '/v1/probe/c2pa',
  id: 'probeC2pa',
  summary: 'Check the C2PA manifest of a file',
  description:
    'Reads and validates the C2PA manifest store of a file: JPEG, PNG, AVIF, HEIC, HEIF, DNG, TIFF, ' +
    'WebP, MP4, MOV, AVI, MP3, M4A, WAV, PDF, SVG. A file without a manifest is a success with a null ' +
    '`active_manifest`; a file with an Invalid manifest is a success too. Only the source is fetched.',
  schema: ProbeC2paSchema,
  envelope: enveloped('C2paEnvelope', C2paReportSchema),
  report: C2paReportSchema,
  examples: {
    bare: { summary: 'The bare report', value: { url: photo } },
    enveloped: {
      summary: 'Enveloped, the report as an object',
      value: { url: photo, inject_output: false, inject_json: true },
    },
  },
});
