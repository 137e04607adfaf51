/** The general part of the OpenAPI description. */
export const ABOUT = {
  title: 'Probeyard',
  version: 'v1.0',
  summary: 'What is in this media file or stream?',
  description: [
    'Probeyard runs ffprobe and mediainfo on a media file, playlist or stream, each at an exact version, and ' +
      'returns their output.',
    'Names are snake_case under `/v1/probe/` and kebab-case under `/frontend/api/v1/`. Times are RFC 3339 in ' +
      'UTC, durations milliseconds, sizes bytes.',
    'In queries and forms a boolean is `true`, `t`, `1`, `false`, `f` or `0` in any case, an empty value counts ' +
      'as omitted, and a nested field is written in brackets: `ffprobe[show_frames]=true`. In forms an object may ' +
      'also be a JSON string. Unknown names, wrong types and repeated values are refused with 400.',
    'Other methods get 405 with the header `Allow`.',
  ].join('\n\n'),
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
} as const;
