/** `GET|POST /v1/probe/mediastreamvalidator`: whether an HLS stream keeps the rules. */
import type { Handler } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { makeReader } from '../http/input/read.ts';
import { probeSingle } from './single.ts';
import { ProbeMsvSchema, type ProbeMsv } from './schema/single.ts';

const read = makeReader<ProbeMsv>(ProbeMsvSchema);

export const probeMsv = (deps: Deps): Handler[] =>
  probeSingle(deps, {
    tool: 'msv',
    read,
    options: ({ parse_playlist_only: playlistsOnly, enable_cli_output: text }) => ({
      parse_playlist_only: String(playlistsOnly),
      enable_cli_output: String(text),
    }),
  });
