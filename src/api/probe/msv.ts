/** `GET|POST /v1/probe/mediastreamvalidator`: whether an HLS stream follows the rules. */
import Type from 'typebox';
import { HlsReportSchema } from '../../hls/schema.ts';
import { msv } from '../../tools/msv.ts';
import { flag } from '../http/fields.ts';
import { enveloped, singleFields, singleTool } from './single.ts';

export const ProbeMsvSchema = Type.Object(
  {
    ...singleFields(msv.endpoint),
    parse_playlist_only: flag(true, 'Validate only the playlists; false: segments are sampled and measured too.'),
    enable_cli_output: flag(false, 'Add the report as text for a terminal.'),
  },
  { additionalProperties: false },
);

const stream = 'https://media.example.com/live/master.m3u8';

export const probeMsv = singleTool({
  tool: msv.name,
  path: '/v1/probe/mediastreamvalidator',
  id: 'probeMsv',
  summary: 'Validate an HLS stream',
  description:
    "Validates an HLS stream against RFC 8216, its successor and Apple's authoring specification. A " +
    'stream that breaks a must-fix rule has `success: false`, with status 200.',
  schema: ProbeMsvSchema,
  envelope: enveloped('MsvEnvelope', HlsReportSchema, {
    cli_output: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The report as text for a terminal, if requested.',
    }),
  }),
  report: HlsReportSchema,
  examples: {
    bare: { summary: 'The bare report', value: { url: stream } },
    measured: {
      summary: 'Segments are measured too, and the report is also returned as text',
      value: { url: stream, parse_playlist_only: false, enable_cli_output: true, inject_output: false },
    },
  },
  options: ({ parse_playlist_only: playlistsOnly, enable_cli_output: text }) => ({
    parse_playlist_only: String(playlistsOnly),
    enable_cli_output: String(text),
  }),
});
