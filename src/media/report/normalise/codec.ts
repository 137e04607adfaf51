/** mediainfo's formats by ffmpeg's names. A family (`pcm`, `adpcm`) is used if the member is unknown. */
import { positiveOf, table, textOf, unchanged, type JsonObject } from '../json.ts';

export const VIDEO_CODECS = table<string>({
  ...unchanged(
    'hevc vvc av1 vp6 vp7 vp8 vp9 prores theora ffv1 wmv1 wmv2 huffyuv utvideo png gif webp cinepak tiff dirac apng ' +
      'lagarith magicyuv snow dxv hap ffvhuff avs3',
  ),
  avc: 'h264',
  'vc-3': 'dnxhd',
  dv: 'dvvideo',
  jpeg: 'mjpeg',
  'm-jpeg': 'mjpeg',
  'vc-1': 'vc1',
  utv0: 'utvideo',
  'jpeg 2000': 'jpeg2000',
  'jpeg xs': 'jpegxs',
  'h.261': 'h261',
  'h.263': 'h263',
  'sorenson spark': 'flv1',
  'sorenson 1': 'svq1',
  'sorenson 3': 'svq3',
  cineform: 'cfhd',
  canopus: 'hq_hqa',
  bitmap: 'bmp',
  'realvideo 1': 'rv10',
  'realvideo 2': 'rv20',
  'realvideo 3': 'rv30',
  'realvideo 4': 'rv40',
  'screen video': 'flashsv',
  'windows media': 'wmv2',
  animation: 'qtrle',
  'm.lossless': 'magicyuv',
  avs: 'cavs',
  'jpeg xl': 'jpegxl',
});
export const AUDIO_CODECS = table<string>({
  ...unchanged(
    'aac dts mlp opus vorbis flac alac speex wavpack tta qcelp gsm adpcm shorten atrac3 cook dsd iamf nellymoser ' +
      'evrc ilbc',
  ),
  'aac lc': 'aac',
  'aac lc sbr': 'aac',
  'aac lc sbr ps': 'aac',
  'he-aac': 'aac',
  usac: 'aac',
  'ac-3': 'ac3',
  'e-ac-3': 'eac3',
  'e-ac-3 joc': 'eac3',
  'ac-4': 'ac4',
  'mlp fba': 'truehd',
  truehd: 'truehd',
  wma: 'wmav2',
  "monkey's audio": 'ape',
  amr: 'amr_nb',
  'mpeg-h 3d audio': 'mpegh_3d_audio',
  'g.722': 'adpcm_g722',
  musepack: 'musepack8',
  'musepack sv8': 'musepack8',
  'musepack sv7': 'musepack7',
  cooker: 'cook',
  'mace 3': 'mace3',
  'mace 6': 'mace6',
  'qdesign 2': 'qdm2',
});
export const SUBTITLE_CODECS = table<string>({
  ...unchanged('ass webvtt ttml text usf'),
  'utf-8': 'subrip',
  subrip: 'subrip',
  ssa: 'ass',
  'timed text': 'mov_text',
  tx3g: 'mov_text',
  pgs: 'hdmv_pgs_subtitle',
  vobsub: 'dvd_subtitle',
  'dvb subtitle': 'dvb_subtitle',
  'teletext subtitle': 'dvb_teletext',
  teletext: 'dvb_teletext',
  'eia-608': 'eia_608',
  'eia-708': 'eia_708',
  rle: 'dvd_subtitle',
  arib: 'arib_caption',
  'arib std b24/b37': 'arib_caption',
});

const MS_MPEG4 = table<string>({
  div3: 'msmpeg4v3',
  mp43: 'msmpeg4v3',
  div4: 'msmpeg4v3',
  mp42: 'msmpeg4v2',
  mpg4: 'msmpeg4v1',
  wmv1: 'wmv1',
  wmv2: 'wmv2',
  wmv3: 'wmv3',
});

const said = (track: JsonObject, name: string): string => textOf(track[name]) ?? '';

/** Of a track of mediainfo. */
export function codecOf(track: JsonObject, container?: string): string | undefined {
  const format = said(track, 'Format').toLowerCase();
  const id = said(track, 'CodecID').toLowerCase();
  const version = said(track, 'Format_Version');
  if (track['@type'] === 'Text') return SUBTITLE_CODECS[format];
  if (track['@type'] === 'Audio') return audio(track, format, id, container);
  if (format === 'mpeg video')
    return version.includes('1') ? 'mpeg1video' : version.includes('2') ? 'mpeg2video' : undefined;
  if (format === 'mpeg-4 visual') return MS_MPEG4[id] ?? 'mpeg4';
  if (format === 'vc-1') return id.includes('wmv3') ? 'wmv3' : 'vc1';
  if (/^ul[yrh][0-9ga]/.test(id)) return 'utvideo';
  if (format === 'yuv' || format === 'rgb' || format === 'raw' || format === 'y41p') return 'rawvideo';
  if (format === 'huffyuv' && (id === 'ffvh' || version.includes('3'))) return 'ffvhuff';
  return VIDEO_CODECS[format] ?? MS_MPEG4[format];
}

function audio(track: JsonObject, format: string, id: string, container: string | undefined): string | undefined {
  const profile = said(track, 'Format_Profile');
  if (format === 'mpeg audio') return /^layer [123]$/i.test(profile) ? `mp${profile.slice(-1)}` : undefined;
  if (format === 'amr') return /wide/i.test(profile) || id === 'sawb' ? 'amr_wb' : 'amr_nb';
  if (format === 'mlp fba' || format === 'mlp fba 16-ch') return 'truehd';
  if (format === 'ac-3' && /e-ac-3|dep/i.test(profile)) return 'eac3';
  if (format === 'wma') {
    if (/pro/i.test(profile)) return 'wmapro';
    if (/lossless/i.test(profile)) return 'wmalossless';
    return said(track, 'Format_Version') === '1' || id === '160' ? 'wmav1' : 'wmav2';
  }
  if (format === 'adpcm') return lawOf(`${profile} ${said(track, 'Format_Settings')}`) ?? 'adpcm';
  if (format === 'u-law' || format === 'a-law') return lawOf(format);
  return format.startsWith('pcm') || format === 'lpcm' ? pcm(track, profile, id, container) : AUDIO_CODECS[format];
}

const LAWS = table<string>({ ulaw: 'pcm_mulaw', 7: 'pcm_mulaw', alaw: 'pcm_alaw', 6: 'pcm_alaw' });
const lawOf = (text: string): string | undefined =>
  /u-law/i.test(text) ? 'pcm_mulaw' : /a-law/i.test(text) ? 'pcm_alaw' : undefined;

/** WAVE and Matroska default to little-endian; in MXF and elsewhere only the family is known. */
function pcm(track: JsonObject, profile: string, id: string, container: string | undefined): string {
  const law = LAWS[id] ?? lawOf(profile + said(track, 'Format_Settings'));
  if (law !== undefined) return law;
  const depth = positiveOf(track['BitDepth']);
  const [endianness, sign] = [said(track, 'Format_Settings_Endianness'), said(track, 'Format_Settings_Sign')];
  const float = /float/i.test(profile) || ['fl32', 'fl64', '3', 'a_pcm/float/ieee'].includes(id);
  const end =
    /little/i.test(endianness) || ['sowt', 'a_pcm/int/lit'].includes(id)
      ? 'le'
      : /big/i.test(endianness) || ['twos', 'a_pcm/int/big'].includes(id)
        ? 'be'
        : container === 'Wave' || container === 'AVI'
          ? 'le'
          : undefined;
  if (depth === undefined || (end === undefined && depth !== 8)) return 'pcm';
  const signed = float ? 'f' : /unsigned/i.test(sign) || (depth === 8 && sign === '') ? 'u' : 's';
  return depth === 8 ? `pcm_${signed}8` : `pcm_${signed}${depth}${end}`;
}

/** A tool's names of profiles that both tools know, by codec. Other profiles are shown unchanged and not compared. */
type ProfileNames = Readonly<Record<string, Readonly<Record<string, string>>>>;
export const MEDIAINFO_PROFILES: ProfileNames = table({
  hevc: table({ 'format range': 'rext', 'main still': 'main still picture', 'multiview main': 'multiview main' }),
  prores: table({
    422: 'standard',
    '422 hq': 'hq',
    '422 lt': 'lt',
    '422 proxy': 'proxy',
    4444: '4444',
    '4444 xq': 'xq',
  }),
  aac: table({
    'lc sbr': 'he-aac',
    'lc sbr ps': 'he-aacv2',
    'he-aac': 'he-aac',
    'he-aac / lc': 'he-aac',
    'he-aacv2 / he-aac / lc': 'he-aacv2',
    lc: 'lc',
  }),
  h264: table({ 'high 4:4:4': 'high 4:4:4 predictive', 'high 4:4:4 intra': 'high 4:4:4 intra' }),
});
export const FFPROBE_PROFILES: ProfileNames = table({
  mpeg4: table({ 'simple profile': 'simple', 'advanced simple profile': 'advanced simple' }),
  prores: table({ prores_standard: 'standard' }),
  aac: table({ 'he-aacv2': 'he-aacv2' }),
});
/** Codecs whose profiles both tools name from the same list. */
export const PROFILED = new Set(['h264', 'hevc', 'mpeg2video', 'mpeg4', 'vp9', 'av1', 'aac', 'prores']);

export function profileOf(
  names: ProfileNames,
  codec: string | undefined,
  text: string | undefined,
): string | undefined {
  if (text === undefined || /^(?:unknown|-99|n\/a)$/i.test(text)) return undefined;
  const plain = text.split('@')[0]!.trim().toLowerCase();
  if (plain === '') return undefined;
  // Each of the range extensions has its own name, which only one tool reports.
  if (codec === 'hevc' && /^main .*(?:4:|\b12|\b16)|^monochrome/.test(plain)) return 'rext';
  const spelled = names[codec ?? '']?.[plain] ?? plain;
  return codec === 'vp9' ? spelled.replace(/^profile /, '') : spelled;
}

/** Normalised to the form 4.1. */
export function levelOf(codec: string | undefined, level: number | undefined): string | undefined {
  if (level === undefined || level <= 0) return undefined;
  if (codec === 'h264')
    return level === 9 ? '1b' : `${Math.floor(level / 10)}${level % 10 === 0 ? '' : `.${level % 10}`}`;
  if (codec === 'hevc') return String(Math.round((level / 30) * 10) / 10);
  return undefined;
}
