/** Normalised container names. */
import { table } from '../json.ts';

export const FFPROBE_CONTAINERS = table<string>({
  'matroska,webm': 'matroska',
  mpegts: 'mpegts',
  mpegtsraw: 'mpegts',
  mpeg: 'mpegps',
  avi: 'avi',
  flv: 'flv',
  live_flv: 'flv',
  asf: 'asf',
  ogg: 'ogg',
  mxf: 'mxf',
  mxf_opatom: 'mxf',
  aac: 'aac',
  loas: 'aac',
  mp3: 'mp3',
  flac: 'flac',
  wav: 'wav',
  w64: 'wav',
  aiff: 'aiff',
  ac3: 'ac3',
  eac3: 'eac3',
  dts: 'dts',
  dtshd: 'dts',
  truehd: 'truehd',
  h264: 'h264',
  hevc: 'hevc',
  vvc: 'vvc',
  ivf: 'ivf',
  obu: 'av1',
  av1: 'av1',
  mpegvideo: 'mpegvideo',
  m4v: 'm4v',
  amr: 'amr',
  amrnb: 'amr',
  amrwb: 'amr',
  caf: 'caf',
  au: 'au',
  wv: 'wavpack',
  tta: 'tta',
  ape: 'ape',
  hls: 'hls',
  'hls,applehttp': 'hls',
  dash: 'dash',
  gif: 'gif',
  apng: 'png',
  png_pipe: 'png',
  jpeg_pipe: 'jpeg',
  mjpeg: 'jpeg',
  webp_pipe: 'webp',
  webp: 'webp',
  webp_anim: 'webp',
  tiff_pipe: 'tiff',
  bmp_pipe: 'bmp',
  jpegxl_pipe: 'jpegxl',
  jpegxl_anim: 'jpegxl',
  j2k_pipe: 'jpeg2000',
  gxf: 'gxf',
  dv: 'dv',
  rm: 'rm',
  webvtt: 'webvtt',
  srt: 'srt',
  nut: 'nut',
  swf: 'swf',
  rtsp: 'rtsp',
  concat: 'concat',
  dsf: 'dsf',
  bink: 'bink',
  wtv: 'wtv',
  iamf: 'iamf',
  heif: 'heif',
  ass: 'ass',
  psxstr: 'psxstr',
  smjpeg: 'smjpeg',
  ac4: 'ac4',
});

export function fromFfprobe(name: string | undefined, majorBrand: string | undefined): string | undefined {
  // Identified as a picture only by the file name: the kind is unknown.
  if (name === undefined || name === 'image2') return undefined;
  if (name.startsWith('mov,mp4')) return isoFormat(majorBrand);
  return FFPROBE_CONTAINERS[name] ?? name.split(',')[0]?.replace(/_pipe$/, '');
}

function isoFormat(brand: string | undefined): string {
  const plain = brand?.trim().toLowerCase() ?? '';
  if (plain === 'qt' || plain === '') return 'mov';
  if (plain.startsWith('3g')) return '3gp';
  if (/^(?:heic|heix|heim|heis|hevc|mif1|msf1)$/.test(plain)) return 'heif';
  return /^(?:avif|avis)$/.test(plain) ? 'avif' : 'mp4';
}

export const MEDIAINFO_CONTAINERS = table<string>({
  matroska: 'matroska',
  webm: 'webm',
  'mpeg-ts': 'mpegts',
  bdav: 'mpegts',
  'mpeg-ps': 'mpegps',
  avi: 'avi',
  'flash video': 'flv',
  'windows media': 'asf',
  ogg: 'ogg',
  mxf: 'mxf',
  adts: 'aac',
  latm: 'aac',
  flac: 'flac',
  wave: 'wav',
  wave64: 'wav',
  rf64: 'wav',
  aiff: 'aiff',
  'ac-3': 'ac3',
  'e-ac-3': 'eac3',
  dts: 'dts',
  'mlp fba': 'truehd',
  avc: 'h264',
  hevc: 'hevc',
  vvc: 'vvc',
  ivf: 'ivf',
  av1: 'av1',
  'mpeg video': 'mpegvideo',
  'mpeg-4 visual': 'm4v',
  amr: 'amr',
  caf: 'caf',
  au: 'au',
  wavpack: 'wavpack',
  tta: 'tta',
  "monkey's audio": 'ape',
  hls: 'hls',
  'dash mpd': 'dash',
  gif: 'gif',
  png: 'png',
  apng: 'png',
  jpeg: 'jpeg',
  webp: 'webp',
  tiff: 'tiff',
  bitmap: 'bmp',
  bmp: 'bmp',
  'jpeg xl': 'jpegxl',
  'jpeg 2000': 'jpeg2000',
  gxf: 'gxf',
  dv: 'dv',
  realmedia: 'rm',
  webvtt: 'webvtt',
  subrip: 'srt',
  'mpeg-4': 'mp4',
  heif: 'heif',
  avif: 'avif',
  quicktime: 'mov',
  swf: 'swf',
  'ac-4': 'ac4',
  cdxa: 'cdxa',
  dsf: 'dsf',
  iamf: 'iamf',
  ism: 'ism',
  ass: 'ass',
  ssa: 'ass',
});

export function fromMediainfo(
  format: string | undefined,
  profile: string | undefined,
  codecId: string | undefined,
  audioProfile: string | undefined,
): string | undefined {
  const plain = format?.toLowerCase();
  if (plain === undefined) return undefined;
  if (plain === 'mpeg audio') return audioProfile === undefined || /3/.test(audioProfile) ? 'mp3' : 'mp3';
  if (plain === 'mpeg-4') {
    if (codecId !== undefined && /^(?:heic|heix|mif1|msf1|avif|avis|3g|qt)/i.test(codecId.trim()))
      return isoFormat(codecId.trim().slice(0, 4));
    if (/quicktime/i.test(profile ?? '')) return 'mov';
    return /3gpp/i.test(profile ?? '') ? '3gp' : 'mp4';
  }
  return MEDIAINFO_CONTAINERS[plain];
}

/** Names that count as equal: ffprobe does not distinguish them, mediainfo does. The more precise one is shown. */
const SAME: readonly (readonly string[])[] = [
  ['matroska', 'webm'],
  ['mp3', 'mp2'],
  ['m4v', 'mpegvideo'],
  ['heif', 'avif'],
];
export const sameContainer = (one: string, other: string): boolean =>
  one === other || SAME.some((names) => names.includes(one) && names.includes(other));
export const finerContainer = (one: string, other: string): string => (['webm', 'avif'].includes(other) ? other : one);

/** An extension that does not match its container causes a warning. Unlisted extensions are ignored. */
const EXTENSIONS = table<readonly string[]>({
  mp4: [
    'mp4',
    'm4a',
    'm4v',
    'm4b',
    'm4s',
    'cmfv',
    'cmfa',
    'cmft',
    'mp4a',
    'mp4v',
    'ismv',
    'isma',
    'mov',
    'f4v',
    'm4p',
    '3gp',
    'dash',
    'm4f',
    'qt',
    'm4r',
    'fmp4',
    'lrv',
  ],
  mov: ['mov', 'qt', 'mp4', 'm4a', 'm4v', 'm4s', 'cmfv', 'cmfa', 'f4v'],
  '3gp': ['3gp', '3g2', '3gpp', 'mp4', 'm4a'],
  matroska: ['mkv', 'mka', 'mks', 'mk3d', 'webm'],
  webm: ['webm', 'weba', 'mkv', 'mka'],
  mpegts: ['ts', 'm2ts', 'mts', 'mpg', 'mpeg', 'm2t', 'trp', 'tp', 'tsv', 'tsa'],
  mpegps: ['mpg', 'mpeg', 'vob', 'ps', 'm2p', 'mpe', 'evo', 'dat'],
  avi: ['avi', 'divx'],
  flv: ['flv', 'f4v'],
  asf: ['asf', 'wmv', 'wma', 'wm'],
  ogg: ['ogg', 'ogv', 'oga', 'opus', 'ogx', 'spx'],
  mxf: ['mxf'],
  aac: ['aac', 'adts', 'latm', 'loas', 'm4a'],
  mp3: ['mp3', 'mp2', 'mpa', 'mpga', 'm2a', 'mp1'],
  flac: ['flac'],
  wav: ['wav', 'wave', 'w64', 'rf64', 'bwf'],
  aiff: ['aiff', 'aif', 'aifc'],
  ac3: ['ac3'],
  eac3: ['eac3', 'ec3', 'ac3'],
  amr: ['amr', 'awb'],
  caf: ['caf'],
  gif: ['gif'],
  png: ['png', 'apng'],
  jpeg: ['jpg', 'jpeg', 'jpe', 'jfif', 'mjpeg', 'mjpg'],
  webp: ['webp'],
  heif: ['heic', 'heif', 'hif', 'avif', 'heics'],
  avif: ['avif', 'avifs', 'heif', 'heic'],
  hls: ['m3u8', 'm3u'],
  dash: ['mpd'],
});
const ALL = new Set(Object.values(EXTENSIONS).flat());

/** Undefined if unknown. */
export function extensionFits(container: string, extension: string): boolean | undefined {
  const own = EXTENSIONS[container];
  return own === undefined || !ALL.has(extension) ? undefined : own.includes(extension);
}
