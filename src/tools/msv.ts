/** The HLS validator: a program of Probeyard itself, run in the tools container like any other. */
import { readOptions, type OptionSpec } from './option.ts';
import { MAX_TIMEOUT_MS } from '../limits.ts';
import { lastLine, type InFile, type Program, type WithEndpoint } from './tool.ts';

const MSV_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'parse_playlist_only',
    type: 'boolean',
    default: true,
    description: 'Judge the playlists alone; false: segments are sampled and measured, and a live playlist is watched.',
  },
  { name: 'enable_cli_output', type: 'boolean', default: false, description: 'The report as text, too.' },
];

/** It stops shortly before the launcher's time-out, because a partial report is better than none. */
const SPARE_MS = 2_000;

type Msv = InFile<WithEndpoint<Program<'msv'>>> & { file: { as: 'mediastreamvalidator' } };

export const msv: Msv = {
  name: 'msv',
  options: MSV_OPTIONS,
  timeoutMs: MAX_TIMEOUT_MS,
  endpoint: { timeoutMs: MAX_TIMEOUT_MS, injectJson: true },
  readsPlaylistsAsTheyAre: true,
  followsParts: true,
  args(options, address, { wallMs, beside = false } = { wallMs: 60_000 }) {
    const values = new Map([...readOptions(MSV_OPTIONS, options)].map(([spec, value]) => [spec.name, value]));
    return [
      `--time-ms=${Math.floor(Math.max(wallMs - SPARE_MS, wallMs / 2))}`,
      ...(values.get('parse_playlist_only') === false ? ['--measure'] : []),
      ...(values.get('enable_cli_output') === true ? ['--text'] : []),
      ...(beside ? ['--beside'] : []),
      address,
    ];
  },
  file: {
    as: 'mediastreamvalidator',
    byDefault: false,
    enables: 'Validate the source, where it is an HLS playlist; for others it is named in X-Ignored-Fields.',
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
