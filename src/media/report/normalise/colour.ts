/** Colour properties by ffmpeg's names. Values like "unknown" or "reserved" count as absent. */
import { table } from '../json.ts';

/** Names of primaries, transfers and matrices alike. */
const SHARED = {
  'bt.709': 'bt709',
  'bt.470 system b/g': 'bt470bg',
  'bt.601': 'smpte170m',
  'bt.601 pal': 'bt470bg',
  'bt.601 ntsc': 'smpte170m',
  'smpte 240m': 'smpte240m',
};
const PRIMARIES = table<string>({
  ...SHARED,
  'bt.470 system m': 'bt470m',
  'generic film': 'film',
  'bt.2020': 'bt2020',
  xyz: 'smpte428',
  'dci p3': 'smpte431',
  'display p3': 'smpte432',
  'ebu tech 3213': 'ebu3213',
});
const TRANSFER = table<string>({
  ...SHARED,
  'bt.470 system m': 'bt470m',
  linear: 'linear',
  'logarithmic (100:1)': 'log',
  'logarithmic (316.22777:1)': 'log_sqrt',
  xvycc: 'iec61966-2-4',
  'bt.1361': 'bt1361e',
  'srgb/sycc': 'iec61966-2-1',
  'bt.2020 (10-bit)': 'bt2020-10',
  'bt.2020 (12-bit)': 'bt2020-12',
  pq: 'smpte2084',
  'smpte 428m': 'smpte428',
  hlg: 'arib-std-b67',
});
const MATRIX = table<string>({
  ...SHARED,
  identity: 'gbr',
  'fcc 73.682': 'fcc',
  ycgco: 'ycgco',
  'bt.2020 non-constant': 'bt2020nc',
  'bt.2020 constant': 'bt2020c',
  "y'd'zd'x": 'smpte2085',
  'chromaticity-derived non-constant': 'chroma-derived-nc',
  'chromaticity-derived constant': 'chroma-derived-c',
  ictcp: 'ictcp',
});
const TABLES = { primaries: PRIMARIES, transfer: TRANSFER, matrix: MATRIX } as const;
const NOTHING = /^(?:unknown|unspecified|reserved|undef|n\/a)/i;
const OTHER_NAMES = table<string>({
  gamma22: 'bt470m',
  gamma28: 'bt470bg',
  rgb: 'gbr',
  ycocg: 'ycgco',
  bt2020_10: 'bt2020-10',
  bt2020_ncl: 'bt2020nc',
  bt2020_cl: 'bt2020c',
  'jedec-p22': 'ebu3213',
  unknown: '',
});

export function fromMediainfo(what: keyof typeof TABLES, text: string | undefined): string | undefined {
  if (text === undefined || NOTHING.test(text)) return undefined;
  // Two values in one: of the container and of the stream, the effective one first.
  return TABLES[what][text.toLowerCase().split(' / ')[0]!.trim()];
}

export function fromFfprobe(text: string | undefined): string | undefined {
  if (text === undefined || NOTHING.test(text)) return undefined;
  return OTHER_NAMES[text] ?? text;
}

const RANGES = table<string>({ tv: 'tv', mpeg: 'tv', limited: 'tv', pc: 'pc', jpeg: 'pc', full: 'pc' });
export const rangeOf = (text: string | undefined): string | undefined =>
  RANGES[text?.toLowerCase().split(' / ')[0]?.trim() ?? ''];
