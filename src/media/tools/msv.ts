/** The HLS validator: a program of Probeyard itself, run in the tools container like any other. */
import { readOptions, toggle, type OptionSpec } from './option.ts';
import { MAX_TIMEOUT_MS } from '../../base/limits.ts';
import { lastLine, type InFile, type Program, type WithEndpoint } from './tool.ts';

const MSV_OPTIONS: readonly OptionSpec[] = [
  toggle(
    'parse_playlist_only',
    'Validate only the playlists; false: segments are sampled and measured too, and a live playlist is watched.',
    { default: true },
  ),
  toggle(
    'measure_all_segments',
    'Measure every segment, not a sample, as far as 1 GB and the time of the request reach. Implies ' +
      'parse_playlist_only=false.',
  ),
  toggle('enable_cli_output', 'Add the report as text for a terminal.'),
  toggle(
    'enable_playlist_text',
    'Add the lines of each playlist, without secrets: up to 512 KB more, so that they are not sent unasked.',
  ),
];

const STREAM = 'https://media.example.com/live/master.m3u8';

/** It stops shortly before the launcher's time-out, because a partial report is better than none. */
const SPARE_MS = 2_000;

type Msv = InFile<WithEndpoint<Program<'msv'>>> & { file: { as: 'mediastreamvalidator' } };

export const msv: Msv = {
  name: 'msv',
  options: MSV_OPTIONS,
  timeoutMs: MAX_TIMEOUT_MS,
  endpoint: {
    timeoutMs: MAX_TIMEOUT_MS,
    injectJson: true,
    summary: 'Validate an HLS stream',
    description:
      "Validates an HLS stream against RFC 8216, its successor and Apple's authoring specification. A " +
      'stream that breaks a must-fix rule has `success: false`, with status 200.',
    examples: {
      bare: { summary: 'The bare report', value: { url: STREAM } },
      measured: {
        summary: 'Segments are measured too, and the report is also returned as text',
        value: { url: STREAM, parse_playlist_only: false, enable_cli_output: true, inject_output: false },
      },
    },
    members: { cli_output: 'The report as text for a terminal, if requested.' },
  },
  readsPlaylistsAsTheyAre: true,
  followsParts: true,
  args(options, address, { wallMs, beside = false } = { wallMs: 60_000 }) {
    const values = new Map([...readOptions(MSV_OPTIONS, options)].map(([spec, value]) => [spec.name, value]));
    return [
      `--time-ms=${Math.floor(Math.max(wallMs - SPARE_MS, wallMs / 2))}`,
      ...(values.get('parse_playlist_only') === false ? ['--measure'] : []),
      ...(values.get('measure_all_segments') === true ? ['--measure-all'] : []),
      ...(values.get('enable_cli_output') === true ? ['--text'] : []),
      ...(values.get('enable_playlist_text') === true ? ['--playlist-text'] : []),
      ...(beside ? ['--beside'] : []),
      address,
    ];
  },
  file: {
    as: 'mediastreamvalidator',
    byDefault: false,
    enables: 'Validate the source if it is an HLS playlist; otherwise this field is named in X-Ignored-Fields.',
    description: 'The HLS validator.',
    onlyFor: 'hls',
    lenient: true,
  },
  format: () => 'json',
  verifiesTls: () => true,
  failure({ code, stderr }) {
    return code === 0 ? undefined : (lastLine(stderr) ?? 'the validator failed without a message');
  },
  verdict: (output) => {
    const error = /^\{\s*"success":\s*false,\s*"error":\s*("(?:[^"\\]|\\.)*")/.exec(output)?.[1];
    return error === undefined ? undefined : (JSON.parse(error) as string);
  },
};
