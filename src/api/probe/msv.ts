/** `GET|POST /v1/probe/mediastreamvalidator`: whether an HLS stream keeps the rules. */
import { endpoint } from '../http/endpoint.ts';
import { MSV } from './description/single.ts';
import type { ProbeMsv } from './schema/single.ts';
import { probeSingle, type Single } from './single.ts';

const tool: Single<ProbeMsv> = {
  tool: 'msv',
  options: ({ parse_playlist_only: playlistsOnly, enable_cli_output: text }) => ({
    parse_playlist_only: String(playlistsOnly),
    enable_cli_output: String(text),
  }),
};

const PATH = '/v1/probe/mediastreamvalidator';

export const msvByQuery = endpoint(`GET ${PATH}`, MSV.byQuery, probeSingle(tool));
export const msvByBody = endpoint(`POST ${PATH}`, MSV.byBody, probeSingle(tool));
