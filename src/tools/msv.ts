/** The options of the HLS validator. */
import type { OptionSpec } from './option.ts';

export const MSV_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'parse_playlist_only',
    type: 'boolean',
    default: true,
    description: 'Judge the playlists alone; false: segments are sampled and measured, and a live playlist is watched.',
  },
  { name: 'enable_cli_output', type: 'boolean', default: false, description: 'The report as text, too.' },
];
