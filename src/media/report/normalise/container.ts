/** Normalised container names. */
import { table, unchanged } from '../json.ts';

export const FFPROBE_CONTAINERS = table<string>({
  ...unchanged(
    'mpegts avi flv asf ogg mxf aac mp3 flac wav aiff ac3 eac3 dts truehd h264 hevc vvc ivf mpegvideo m4v amr caf au ' +
      'tta ape hls dash gif gxf dv rm webvtt srt nut swf rtsp concat dsf bink wtv iamf heif ass psxstr smjpeg ac4',
  ),
  'matroska,webm': 'matroska',
  mpegtsraw: 'mpegts',
  mpeg: 'mpegps',
  live_flv: 'flv',
  mxf_opatom: 'mxf',
  loas: 'aac',
  w64: 'wav',
  dtshd: 'dts',
  obu: 'av1',
  av1: 'av1',
  amrnb: 'amr',
  amrwb: 'amr',
  wv: 'wavpack',
  'hls,applehttp': 'hls',
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
  ...unchanged(
    'matroska webm avi ogg mxf flac aiff dts hevc vvc ivf av1 amr caf au wavpack tta hls gif png jpeg webp tiff gxf ' +
      'dv webvtt heif avif swf cdxa dsf iamf ism ass',
  ),
  'mpeg-ts': 'mpegts',
  bdav: 'mpegts',
  'mpeg-ps': 'mpegps',
  'flash video': 'flv',
  'windows media': 'asf',
  adts: 'aac',
  latm: 'aac',
  wave: 'wav',
  wave64: 'wav',
  rf64: 'wav',
  'ac-3': 'ac3',
  'e-ac-3': 'eac3',
  'mlp fba': 'truehd',
  avc: 'h264',
  'mpeg audio': 'mp3',
  'mpeg video': 'mpegvideo',
  'mpeg-4 visual': 'm4v',
  "monkey's audio": 'ape',
  'dash mpd': 'dash',
  apng: 'png',
  bitmap: 'bmp',
  bmp: 'bmp',
  'jpeg xl': 'jpegxl',
  'jpeg 2000': 'jpeg2000',
  realmedia: 'rm',
  subrip: 'srt',
  'mpeg-4': 'mp4',
  quicktime: 'mov',
  'ac-4': 'ac4',
  ssa: 'ass',
});

export function fromMediainfo(format?: string, profile?: string, codecId?: string): string | undefined {
  const plain = format?.toLowerCase();
  if (plain === undefined) return undefined;
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

/** Extensions by container: one that does not match causes a warning. Unlisted ones are ignored. */
const EXTENSIONS = table<string>({
  mp4: 'mp4 m4a m4v m4b m4s cmfv cmfa cmft mp4a mp4v ismv isma mov f4v m4p 3gp dash m4f qt m4r fmp4 lrv',
  mov: 'mov qt mp4 m4a m4v m4s cmfv cmfa f4v',
  '3gp': '3gp 3g2 3gpp mp4 m4a',
  matroska: 'mkv mka mks mk3d webm',
  webm: 'webm weba mkv mka',
  mpegts: 'ts m2ts mts mpg mpeg m2t trp tp tsv tsa',
  mpegps: 'mpg mpeg vob ps m2p mpe evo dat',
  avi: 'avi divx',
  flv: 'flv f4v',
  asf: 'asf wmv wma wm',
  ogg: 'ogg ogv oga opus ogx spx',
  mxf: 'mxf',
  aac: 'aac adts latm loas m4a',
  mp3: 'mp3 mp2 mpa mpga m2a mp1',
  flac: 'flac',
  wav: 'wav wave w64 rf64 bwf',
  aiff: 'aiff aif aifc',
  ac3: 'ac3',
  eac3: 'eac3 ec3 ac3',
  amr: 'amr awb',
  caf: 'caf',
  gif: 'gif',
  png: 'png apng',
  jpeg: 'jpg jpeg jpe jfif mjpeg mjpg',
  webp: 'webp',
  heif: 'heic heif hif avif heics',
  avif: 'avif avifs heif heic',
  hls: 'm3u8 m3u',
  dash: 'mpd',
});
const ALL = new Set(Object.values(EXTENSIONS).flatMap((words) => words.split(' ')));

/** Undefined if unknown. */
export function extensionFits(container: string, extension: string): boolean | undefined {
  const own = EXTENSIONS[container];
  return own === undefined || !ALL.has(extension) ? undefined : own.split(' ').includes(extension);
}
