/**
 * The choices for generated files, which are encoders with their capabilities, and containers with the codecs that fit.
 */

export interface VideoCodec {
  name: string;
  args: string[];
  pixelFormats: string[];
  /** Whether its bitstream can carry these. */
  colour?: boolean;
  aspect?: boolean;
  interlaced?: string[];
  /** Sizes and rates that it is limited to. */
  size?: [number, number];
  rates?: string[];
  rotates?: boolean;
}

const X264 = ['-c:v', 'libx264', '-preset', 'veryfast'];
const X265 = ['-c:v', 'libx265', '-preset', 'ultrafast'];
const FIELDS = ['-flags', '+ilme+ildct'];

export const VIDEO: Readonly<Record<string, VideoCodec>> = {
  h264: {
    name: 'h264',
    args: X264,
    pixelFormats: ['yuv420p', 'yuv420p', 'yuv420p', 'yuv422p', 'yuv444p', 'yuv420p10le', 'yuv422p10le'],
    colour: true,
    aspect: true,
    interlaced: ['-flags', '+ilme+ildct'],
    rotates: true,
  },
  hevc: {
    name: 'hevc',
    args: X265,
    pixelFormats: ['yuv420p', 'yuv420p', 'yuv420p10le', 'yuv422p10le', 'yuv444p'],
    colour: true,
    aspect: true,
    rotates: true,
  },
  mpeg4: {
    name: 'mpeg4',
    args: ['-c:v', 'mpeg4', '-q:v', '4'],
    pixelFormats: ['yuv420p'],
    aspect: true,
    interlaced: FIELDS,
  },
  xvid: { name: 'mpeg4', args: ['-c:v', 'libxvid', '-q:v', '4'], pixelFormats: ['yuv420p'], aspect: true },
  mpeg2: {
    name: 'mpeg2video',
    args: ['-c:v', 'mpeg2video', '-q:v', '4'],
    pixelFormats: ['yuv420p', 'yuv420p', 'yuv422p'],
    interlaced: FIELDS,
    rates: ['24000/1001', '24/1', '25/1', '30000/1001', '30/1', '50/1', '60000/1001'],
  },
  mpeg1: {
    name: 'mpeg1video',
    args: ['-c:v', 'mpeg1video', '-q:v', '4'],
    pixelFormats: ['yuv420p'],
    rates: ['24000/1001', '24/1', '25/1', '30000/1001', '30/1', '50/1'],
  },
  vp8: {
    name: 'vp8',
    args: ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-b:v', '300k'],
    pixelFormats: ['yuv420p'],
  },
  vp9: {
    name: 'vp9',
    args: ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', '-b:v', '300k'],
    pixelFormats: ['yuv420p', 'yuv420p', 'yuv444p', 'yuv420p10le'],
    colour: false,
  },
  av1: {
    name: 'av1',
    args: ['-c:v', 'libaom-av1', '-cpu-used', '8', '-usage', 'realtime', '-b:v', '200k'],
    pixelFormats: ['yuv420p', 'yuv420p', 'yuv420p10le'],
    colour: true,
  },
  svtav1: {
    name: 'av1',
    args: ['-c:v', 'libsvtav1', '-preset', '12'],
    pixelFormats: ['yuv420p', 'yuv420p10le'],
    colour: true,
  },
  prores: {
    name: 'prores',
    args: ['-c:v', 'prores_ks', '-profile:v', '2'],
    pixelFormats: ['yuv422p10le'],
    colour: true,
    interlaced: FIELDS,
  },
  prores4444: {
    name: 'prores',
    args: ['-c:v', 'prores_ks', '-profile:v', '4'],
    pixelFormats: ['yuv444p10le'],
    colour: true,
  },
  dnxhr: {
    name: 'dnxhd',
    args: ['-c:v', 'dnxhd', '-profile:v', 'dnxhr_sq'],
    pixelFormats: ['yuv422p'],
    size: [320, 180],
  },
  dv: { name: 'dvvideo', args: ['-c:v', 'dvvideo'], pixelFormats: ['yuv420p'], size: [720, 576], rates: ['25/1'] },
  mjpeg: { name: 'mjpeg', args: ['-c:v', 'mjpeg', '-q:v', '5'], pixelFormats: ['yuvj420p', 'yuvj422p', 'yuvj444p'] },
  theora: { name: 'theora', args: ['-c:v', 'libtheora', '-q:v', '6'], pixelFormats: ['yuv420p'], aspect: true },
  ffv1: { name: 'ffv1', args: ['-c:v', 'ffv1', '-level', '3'], pixelFormats: ['yuv420p', 'yuv422p10le', 'yuv444p'] },
  flv1: { name: 'flv1', args: ['-c:v', 'flv', '-q:v', '4'], pixelFormats: ['yuv420p'] },
  h263: {
    name: 'h263',
    args: ['-c:v', 'h263', '-q:v', '4'],
    pixelFormats: ['yuv420p'],
    size: [176, 144],
    rates: ['30000/1001'],
  },
  wmv2: { name: 'wmv2', args: ['-c:v', 'wmv2', '-q:v', '4'], pixelFormats: ['yuv420p'] },
  huffyuv: { name: 'huffyuv', args: ['-c:v', 'huffyuv'], pixelFormats: ['yuv422p'] },
  utvideo: { name: 'utvideo', args: ['-c:v', 'utvideo'], pixelFormats: ['yuv420p', 'yuv422p'] },
  raw: { name: 'rawvideo', args: ['-c:v', 'rawvideo'], pixelFormats: ['yuv420p', 'uyvy422'] },
};

export interface AudioCodec {
  name: string;
  args: string[];
  rates: number[];
  layouts: string[];
  bitRates?: string[];
  depth?: number;
  formats?: string[];
}
const RATES = [22_050, 32_000, 44_100, 48_000];
const ANY = ['mono', 'stereo', 'stereo', '5.1'];

export const AUDIO: Readonly<Record<string, AudioCodec>> = {
  aac: {
    name: 'aac',
    args: ['-c:a', 'aac'],
    rates: [...RATES, 16_000],
    layouts: ['mono', 'stereo', 'stereo', '5.1', '7.1', 'quad'],
    bitRates: ['48k', '96k', '128k'],
  },
  mp3: {
    name: 'mp3',
    args: ['-c:a', 'libmp3lame'],
    rates: RATES,
    layouts: ['mono', 'stereo'],
    bitRates: ['64k', '128k', 'q4'],
  },
  mp2: {
    name: 'mp2',
    args: ['-c:a', 'mp2'],
    rates: [32_000, 44_100, 48_000],
    layouts: ['mono', 'stereo'],
    bitRates: ['128k', '192k'],
  },
  ac3: {
    name: 'ac3',
    args: ['-c:a', 'ac3'],
    rates: [32_000, 44_100, 48_000],
    layouts: ANY,
    bitRates: ['192k', '384k'],
  },
  eac3: { name: 'eac3', args: ['-c:a', 'eac3'], rates: [44_100, 48_000], layouts: ANY, bitRates: ['192k', '256k'] },
  dts: {
    name: 'dts',
    args: ['-c:a', 'dca', '-strict', '-2'],
    rates: [48_000],
    layouts: ['stereo', '5.1(side)'],
    bitRates: ['768k'],
  },
  opus: { name: 'opus', args: ['-c:a', 'libopus'], rates: [48_000], layouts: ANY, bitRates: ['48k', '96k'] },
  vorbis: { name: 'vorbis', args: ['-c:a', 'libvorbis'], rates: RATES, layouts: ANY, bitRates: ['q3', 'q5'] },
  flac: {
    name: 'flac',
    args: ['-c:a', 'flac'],
    rates: [44_100, 48_000, 96_000],
    layouts: ANY,
    formats: ['s16', 's32'],
  },
  alac: {
    name: 'alac',
    args: ['-c:a', 'alac'],
    rates: [44_100, 48_000],
    layouts: ['mono', 'stereo'],
    formats: ['s16p', 's32p'],
  },
  pcm16: { name: 'pcm_s16le', args: ['-c:a', 'pcm_s16le'], rates: [...RATES, 96_000], layouts: ANY, depth: 16 },
  pcm24: { name: 'pcm_s24le', args: ['-c:a', 'pcm_s24le'], rates: [48_000, 96_000], layouts: ANY, depth: 24 },
  pcm16be: {
    name: 'pcm_s16be',
    args: ['-c:a', 'pcm_s16be'],
    rates: [44_100, 48_000],
    layouts: ['mono', 'stereo'],
    depth: 16,
  },
  pcmf: { name: 'pcm_f32le', args: ['-c:a', 'pcm_f32le'], rates: [48_000], layouts: ['mono', 'stereo'], depth: 32 },
  ulaw: { name: 'pcm_mulaw', args: ['-c:a', 'pcm_mulaw'], rates: [8_000, 16_000], layouts: ['mono'], depth: 8 },
  adpcm: { name: 'adpcm_ms', args: ['-c:a', 'adpcm_ms'], rates: [22_050, 44_100], layouts: ['mono', 'stereo'] },
  wma: {
    name: 'wmav2',
    args: ['-c:a', 'wmav2'],
    rates: [44_100],
    layouts: ['mono', 'stereo'],
    bitRates: ['96k', '128k'],
  },
  speex: { name: 'speex', args: ['-c:a', 'libspeex'], rates: [8_000, 16_000, 32_000], layouts: ['mono'] },
  wavpack: { name: 'wavpack', args: ['-c:a', 'wavpack'], rates: [44_100, 48_000], layouts: ['mono', 'stereo'] },
  tta: { name: 'tta', args: ['-c:a', 'tta'], rates: [44_100, 48_000], layouts: ['stereo'] },
};

export interface ContainerKind {
  format: string;
  extension: string;
  muxer: string;
  video: string[];
  audio: string[];
  /** Empty for none. With several ways to write it, one is drawn. */
  ways?: string[][];
  subtitles?: string;
  languages?: boolean;
  chapters?: boolean;
  /** Whether it carries colour, aspect and variable rates itself. */
  colour?: boolean;
  aspect?: boolean;
  variable?: boolean;
  offsets?: boolean;
  remux?: ('mkvmerge' | 'gst-mp4' | 'gst-mov' | 'gst-mkv' | 'gst-ts')[];
  weight: number;
}

const MOV_WAYS = [
  [],
  [],
  ['-movflags', '+faststart'],
  ['-movflags', '+frag_keyframe+empty_moov'],
  ['-movflags', '+frag_keyframe+empty_moov+default_base_moof+separate_moof'],
];
export const CONTAINERS: readonly ContainerKind[] = [
  {
    format: 'mp4',
    extension: 'mp4',
    muxer: 'mp4',
    video: ['h264', 'h264', 'hevc', 'av1', 'svtav1', 'mpeg4', 'vp9', 'xvid', 'mpeg2', 'mjpeg'],
    audio: ['aac', 'aac', 'mp3', 'ac3', 'eac3', 'opus', 'flac', 'alac', 'mp2', 'dts'],
    ways: MOV_WAYS,
    subtitles: 'mov_text',
    languages: true,
    chapters: true,
    colour: true,
    aspect: true,
    variable: true,
    offsets: true,
    remux: ['gst-mp4'],
    weight: 90,
  },
  {
    format: 'mov',
    extension: 'mov',
    muxer: 'mov',
    video: ['h264', 'hevc', 'prores', 'prores4444', 'mjpeg', 'mpeg4', 'dnxhr', 'dv', 'raw'],
    audio: ['aac', 'pcm16', 'pcm24', 'pcm16be', 'alac', 'pcmf', 'ulaw', 'ac3'],
    ways: MOV_WAYS.slice(0, 4),
    subtitles: 'mov_text',
    languages: true,
    chapters: true,
    colour: true,
    aspect: true,
    variable: true,
    offsets: true,
    remux: ['gst-mov'],
    weight: 50,
  },
  {
    format: 'matroska',
    extension: 'mkv',
    muxer: 'matroska',
    video: [
      'h264',
      'h264',
      'hevc',
      'vp8',
      'vp9',
      'av1',
      'mpeg2',
      'mpeg4',
      'ffv1',
      'theora',
      'mjpeg',
      'prores',
      'xvid',
      'huffyuv',
    ],
    audio: [
      'aac',
      'mp3',
      'opus',
      'vorbis',
      'flac',
      'ac3',
      'eac3',
      'dts',
      'pcm16',
      'pcm24',
      'mp2',
      'tta',
      'wavpack',
      'alac',
    ],
    ways: [[], [], ['-live', '1'], ['-reserve_index_space', '4096'], ['-cues_to_front', '1']],
    subtitles: 'srt',
    languages: true,
    chapters: true,
    colour: true,
    aspect: true,
    variable: true,
    offsets: true,
    remux: ['mkvmerge', 'mkvmerge', 'gst-mkv'],
    weight: 75,
  },
  {
    format: 'webm',
    extension: 'webm',
    muxer: 'webm',
    video: ['vp8', 'vp9', 'av1'],
    audio: ['opus', 'vorbis'],
    ways: [[], ['-live', '1']],
    subtitles: 'webvtt',
    languages: true,
    colour: true,
    aspect: true,
    variable: true,
    weight: 25,
  },
  {
    format: 'mpegts',
    extension: 'ts',
    muxer: 'mpegts',
    video: ['h264', 'h264', 'hevc', 'mpeg2', 'mpeg4', 'mpeg1'],
    audio: ['aac', 'mp2', 'mp3', 'ac3', 'eac3', 'dts', 'opus'],
    ways: [[], ['-muxrate', '4M'], ['-mpegts_m2ts_mode', '1'], ['-mpegts_flags', 'latm']],
    languages: true,
    offsets: true,
    remux: ['gst-ts'],
    weight: 55,
  },
  {
    format: 'mpegps',
    extension: 'mpg',
    muxer: 'vob',
    video: ['mpeg2', 'mpeg2', 'mpeg1', 'h264'],
    audio: ['mp2', 'ac3', 'mp3'],
    weight: 18,
  },
  {
    format: 'avi',
    extension: 'avi',
    muxer: 'avi',
    video: ['mpeg4', 'xvid', 'h264', 'mjpeg', 'huffyuv', 'utvideo', 'raw', 'mpeg2', 'ffv1', 'dv'],
    audio: ['mp3', 'pcm16', 'ac3', 'adpcm', 'aac', 'mp2'],
    weight: 30,
  },
  {
    format: 'flv',
    extension: 'flv',
    muxer: 'flv',
    video: ['h264', 'flv1'],
    audio: ['aac', 'mp3'],
    ways: [[], ['-flvflags', 'no_duration_filesize'], ['-flvflags', '+add_keyframe_index']],
    variable: true,
    weight: 18,
  },
  {
    format: 'asf',
    extension: 'wmv',
    muxer: 'asf',
    video: ['wmv2', 'mpeg4', 'h264'],
    audio: ['wma', 'mp3', 'aac'],
    languages: true,
    weight: 10,
  },
  {
    format: 'ogg',
    extension: 'ogv',
    muxer: 'ogv',
    video: ['theora'],
    audio: ['vorbis', 'opus', 'flac', 'speex'],
    weight: 12,
  },
  {
    format: 'mxf',
    extension: 'mxf',
    muxer: 'mxf',
    video: ['mpeg2', 'dnxhr', 'h264', 'prores', 'ffv1'],
    audio: ['pcm16', 'pcm24'],
    weight: 12,
  },
  {
    format: '3gp',
    extension: '3gp',
    muxer: '3gp',
    video: ['h263', 'h264', 'mpeg4'],
    audio: ['aac'],
    languages: true,
    aspect: true,
    weight: 8,
  },
  { format: 'aac', extension: 'aac', muxer: 'adts', video: [], audio: ['aac'], weight: 8 },
  {
    format: 'mp3',
    extension: 'mp3',
    muxer: 'mp3',
    video: [],
    audio: ['mp3'],
    ways: [[], [], ['-write_xing', '0'], ['-id3v2_version', '3', '-metadata', 'title=A title']],
    weight: 14,
  },
  { format: 'flac', extension: 'flac', muxer: 'flac', video: [], audio: ['flac'], weight: 8 },
  {
    format: 'wav',
    extension: 'wav',
    muxer: 'wav',
    video: [],
    audio: ['pcm16', 'pcm24', 'pcmf', 'ulaw', 'adpcm', 'mp3'],
    ways: [[], ['-write_bext', '1'], ['-rf64', 'always']],
    weight: 12,
  },
  { format: 'ogg', extension: 'ogg', muxer: 'ogg', video: [], audio: ['vorbis', 'opus', 'flac', 'speex'], weight: 12 },
  {
    format: 'mp4',
    extension: 'm4a',
    muxer: 'ipod',
    video: [],
    audio: ['aac', 'alac'],
    ways: [[], ['-movflags', '+faststart']],
    languages: true,
    weight: 10,
  },
  { format: 'aiff', extension: 'aiff', muxer: 'aiff', video: [], audio: ['pcm16be'], weight: 4 },
  { format: 'ac3', extension: 'ac3', muxer: 'ac3', video: [], audio: ['ac3'], weight: 4 },
  { format: 'eac3', extension: 'eac3', muxer: 'eac3', video: [], audio: ['eac3'], weight: 3 },
  { format: 'dts', extension: 'dts', muxer: 'dts', video: [], audio: ['dts'], weight: 3 },
  { format: 'mp2', extension: 'mp2', muxer: 'mp2', video: [], audio: ['mp2'], weight: 3 },
  { format: 'wavpack', extension: 'wv', muxer: 'wv', video: [], audio: ['wavpack'], weight: 2 },
  { format: 'au', extension: 'au', muxer: 'au', video: [], audio: ['pcm16be', 'ulaw'], weight: 2 },
  { format: 'caf', extension: 'caf', muxer: 'caf', video: [], audio: ['pcm16', 'alac', 'ulaw'], weight: 4 },
  { format: 'h264', extension: 'h264', muxer: 'h264', video: ['h264'], audio: [], weight: 6 },
  { format: 'hevc', extension: 'hevc', muxer: 'hevc', video: ['hevc'], audio: [], weight: 5 },
  { format: 'ivf', extension: 'ivf', muxer: 'ivf', video: ['vp8', 'vp9', 'av1'], audio: [], weight: 5 },
  { format: 'mpegvideo', extension: 'm2v', muxer: 'mpeg2video', video: ['mpeg2'], audio: [], weight: 3 },
];
