/** docs/report-names.md: the names of codecs and containers in a probe_report, and what each tool calls them. */
import {
  AUDIO_CODECS,
  codecOf,
  SUBTITLE_CODECS,
  VIDEO_CODECS,
  type MediainfoCodec,
} from '../../src/media/report/normalise/codec.ts';
import {
  FFPROBE_CONTAINERS,
  fromFfprobe,
  fromMediainfo,
  MEDIAINFO_CONTAINERS,
} from '../../src/media/report/normalise/container.ts';
import { FFPROBE_CODECS } from '../../src/media/report/normalise/ffprobe.ts';

type Names = Map<string, { ffprobe: Set<string>; mediainfo: Set<string> }>;

const NOTHING: MediainfoCodec = {
  type: 'Video',
  format: '',
  version: '',
  profile: '',
  id: '',
  depth: undefined,
  endianness: '',
  sign: '',
  settings: '',
};
/** Codecs that mediainfo names by more than its format: what it says, in words and in its fields. */
const BY_MORE: Record<'Video' | 'Audio', [string, Partial<MediainfoCodec>][]> = {
  Video: [
    ['MPEG Video, Version 1', { format: 'MPEG Video', version: 'Version 1' }],
    ['MPEG Video, Version 2', { format: 'MPEG Video', version: 'Version 2' }],
    ['MPEG-4 Visual', { format: 'MPEG-4 Visual' }],
    ['MPEG-4 Visual, MPG4', { format: 'MPEG-4 Visual', id: 'MPG4' }],
    ['MPEG-4 Visual, MP42', { format: 'MPEG-4 Visual', id: 'MP42' }],
    ['MPEG-4 Visual, DIV3', { format: 'MPEG-4 Visual', id: 'DIV3' }],
    ['VC-1, WMV3', { format: 'VC-1', id: 'WMV3' }],
    ['YUV', { format: 'YUV' }],
    ['RGB', { format: 'RGB' }],
    ['RAW', { format: 'RAW' }],
  ],
  Audio: [
    ['MPEG Audio, Layer 1', { format: 'MPEG Audio', profile: 'Layer 1' }],
    ['MPEG Audio, Layer 2', { format: 'MPEG Audio', profile: 'Layer 2' }],
    ['MPEG Audio, Layer 3', { format: 'MPEG Audio', profile: 'Layer 3' }],
    ['AMR, wide band', { format: 'AMR', profile: 'Wide band' }],
    ['WMA, version 1', { format: 'WMA', version: '1' }],
    ['WMA, Pro', { format: 'WMA', profile: 'Pro' }],
    ['WMA, Lossless', { format: 'WMA', profile: 'Lossless' }],
    ['ADPCM, U-Law', { format: 'ADPCM', profile: 'U-Law' }],
    ['ADPCM, A-Law', { format: 'ADPCM', profile: 'A-Law' }],
    ['PCM, neither depth nor byte order', { format: 'PCM' }],
    ['PCM, 16 bits, little endian', { format: 'PCM', depth: 16, endianness: 'Little' }],
    ['PCM, 24 bits, big endian', { format: 'PCM', depth: 24, endianness: 'Big' }],
    ['PCM, 32 bits, float', { format: 'PCM', profile: 'Float', depth: 32, endianness: 'Little' }],
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
  for (const format of Object.keys(table)) add(names, codecOf({ ...NOTHING, type, format }), 'mediainfo', format);
  for (const [text, fields] of type === 'Text' ? [] : BY_MORE[type])
    add(names, codecOf({ ...NOTHING, type, ...fields }), 'mediainfo', text);
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
