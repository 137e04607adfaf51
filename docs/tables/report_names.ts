/** docs/report-names.md: the names of codecs and containers in a probe_report, and what each tool calls them. */
import { AUDIO_CODECS, codecOf, SUBTITLE_CODECS, VIDEO_CODECS } from '../../src/media/report/normalise/codec.ts';
import {
  FFPROBE_CONTAINERS,
  fromFfprobe,
  fromMediainfo,
  MEDIAINFO_CONTAINERS,
} from '../../src/media/report/normalise/container.ts';
import type { JsonObject } from '../../src/media/report/json.ts';
import { FFPROBE_CODECS } from '../../src/media/report/normalise/ffprobe.ts';

type Names = Map<string, { ffprobe: Set<string>; mediainfo: Set<string> }>;

/** Codecs that mediainfo names by more than its format: what it says, in words and in its fields. */
const BY_MORE: Record<'Video' | 'Audio', [string, JsonObject][]> = {
  Video: [
    ['MPEG Video, Version 1', { Format: 'MPEG Video', Format_Version: 'Version 1' }],
    ['MPEG Video, Version 2', { Format: 'MPEG Video', Format_Version: 'Version 2' }],
    ['MPEG-4 Visual', { Format: 'MPEG-4 Visual' }],
    ['MPEG-4 Visual, MPG4', { Format: 'MPEG-4 Visual', CodecID: 'MPG4' }],
    ['MPEG-4 Visual, MP42', { Format: 'MPEG-4 Visual', CodecID: 'MP42' }],
    ['MPEG-4 Visual, DIV3', { Format: 'MPEG-4 Visual', CodecID: 'DIV3' }],
    ['VC-1, WMV3', { Format: 'VC-1', CodecID: 'WMV3' }],
    ['YUV', { Format: 'YUV' }],
    ['RGB', { Format: 'RGB' }],
    ['RAW', { Format: 'RAW' }],
  ],
  Audio: [
    ['MPEG Audio, Layer 1', { Format: 'MPEG Audio', Format_Profile: 'Layer 1' }],
    ['MPEG Audio, Layer 2', { Format: 'MPEG Audio', Format_Profile: 'Layer 2' }],
    ['MPEG Audio, Layer 3', { Format: 'MPEG Audio', Format_Profile: 'Layer 3' }],
    ['AMR, wide band', { Format: 'AMR', Format_Profile: 'Wide band' }],
    ['WMA, version 1', { Format: 'WMA', Format_Version: '1' }],
    ['WMA, Pro', { Format: 'WMA', Format_Profile: 'Pro' }],
    ['WMA, Lossless', { Format: 'WMA', Format_Profile: 'Lossless' }],
    ['ADPCM, U-Law', { Format: 'ADPCM', Format_Profile: 'U-Law' }],
    ['ADPCM, A-Law', { Format: 'ADPCM', Format_Profile: 'A-Law' }],
    ['PCM, neither depth nor byte order', { Format: 'PCM' }],
    ['PCM, 16 bits, little endian', { Format: 'PCM', BitDepth: 16, Format_Settings_Endianness: 'Little' }],
    ['PCM, 24 bits, big endian', { Format: 'PCM', BitDepth: 24, Format_Settings_Endianness: 'Big' }],
    [
      'PCM, 32 bits, float',
      { Format: 'PCM', Format_Profile: 'Float', BitDepth: 32, Format_Settings_Endianness: 'Little' },
    ],
  ],
};

function add(names: Names, name: string | undefined, tool: 'ffprobe' | 'mediainfo', text: string): void {
  if (name === undefined) throw new Error(`${tool}'s "${text}" has no name in the report`);
  const both = names.get(name) ?? { ffprobe: new Set(), mediainfo: new Set() };
  names.set(name, both);
  both[tool].add(text);
}

function codecs(type: 'Video' | 'Audio' | 'Text', table: Readonly<Record<string, string>>): Names {
  const names: Names = new Map();
  for (const format of Object.keys(table)) add(names, codecOf({ '@type': type, Format: format }), 'mediainfo', format);
  for (const [text, fields] of type === 'Text' ? [] : BY_MORE[type])
    add(names, codecOf({ '@type': type, ...fields }), 'mediainfo', text);
  for (const name of names.keys()) add(names, name, 'ffprobe', name);
  for (const [text, name] of Object.entries(FFPROBE_CODECS)) if (names.has(name)) add(names, name, 'ffprobe', text);
  return names;
}

const ISO = 'mov,mp4,m4a,3gp,3g2,mj2';
function containers(): Names {
  const names: Names = new Map();
  for (const text of Object.keys(FFPROBE_CONTAINERS)) add(names, fromFfprobe(text, undefined), 'ffprobe', text);
  for (const [brand, said] of [
    ['isom', 'isom and others'],
    ['qt', 'qt'],
    ['3gp4', '3g…'],
    ['heic', 'heic, mif1 …'],
    ['avif', 'avif'],
  ] as const)
    add(names, fromFfprobe(ISO, brand), 'ffprobe', `${ISO} with the brand ${said}`);
  for (const text of Object.keys(MEDIAINFO_CONTAINERS)) add(names, fromMediainfo(text), 'mediainfo', text);
  add(names, fromMediainfo('MPEG-4', 'QuickTime'), 'mediainfo', 'mpeg-4, QuickTime');
  add(names, fromMediainfo('MPEG-4', '3GPP'), 'mediainfo', 'mpeg-4, 3GPP');
  return names;
}

const shown = (texts: ReadonlySet<string>): string => [...texts].map((text) => `\`${text}\``).join(', ');
const table = (names: Names): string[] => [
  '| name | ffprobe | mediainfo |',
  '|---|---|---|',
  ...[...names]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { ffprobe, mediainfo }]) => `| \`${name}\` | ${shown(ffprobe)} | ${shown(mediainfo)} |`),
];

export const reportNamesPage = (): string =>
  [
    '# Names of codecs and containers',
    '',
    "What [probe_report](report-fields.md) and each tool call the same thing. Names of codecs are ffmpeg's;",
    "mediainfo's are compared without regard to case. A codec of ffprobe that is not listed keeps its name. `pcm` and",
    '`adpcm` stand for a family, where mediainfo does not say which member it is.',
    '',
    '## Video codecs',
    '',
    ...table(codecs('Video', VIDEO_CODECS)),
    '',
    '## Audio codecs',
    '',
    ...table(codecs('Audio', AUDIO_CODECS)),
    '',
    '## Subtitle codecs',
    '',
    ...table(codecs('Text', SUBTITLE_CODECS)),
    '',
    '## Containers',
    '',
    ...table(containers()),
    '',
  ].join('\n');
