/** The samples of an installation: what each shows. images/samples/recipe.ts says how each is made. */

export type SampleGroup = 'video' | 'audio' | 'streams' | 'c2pa' | 'broken';

export interface Sample {
  /** Its path at the origin. */
  path: string;
  group: SampleGroup;
  shows: string;
  /** The endpoint that it is meant for: the last part of `/v1/probe/…`. */
  endpoint: 'file' | 'mediastreamvalidator' | 'c2pa';
  /** Codecs of its streams, in their order, as ffprobe names them. Absent: ffprobe refuses it. */
  codecs?: readonly string[];
}

const of =
  (group: SampleGroup, endpoint: Sample['endpoint'] = 'file') =>
  (path: string, shows: string, ...codecs: string[]): Sample => ({
    path,
    group,
    shows,
    endpoint: path.endsWith('.m3u8') ? 'mediastreamvalidator' : endpoint,
    ...(group === 'broken' && codecs.length === 0 ? {} : { codecs }),
  });
const video = of('video');
const audio = of('audio');
const stream = of('streams');
const signed = of('c2pa', 'c2pa');
const broken = of('broken');

export const SAMPLES: readonly Sample[] = [
  video('h264-aac.mp4', 'MP4 with the index (moov) first, as for the web', 'h264', 'aac'),
  video('h264-aac-index-last.mp4', 'The same with the index last: its end is read before its middle', 'h264', 'aac'),
  video('h264-aac-fragmented.mp4', 'Fragmented MP4', 'h264', 'aac'),
  video('h264-rotated.mp4', 'A display matrix: coded in landscape, shown in portrait', 'h264'),
  video('h264-anamorphic.mp4', 'Pixels that are not square (16:11)', 'h264'),
  video('h264-variable-rate.mp4', 'A frame rate that varies', 'h264'),
  video('h264-surround.mp4', 'Sound in 5.1', 'h264', 'aac'),
  video('hevc-aac.mp4', 'HEVC', 'hevc', 'aac'),
  video('hevc-hdr10.mp4', 'HDR10: 10 bit, BT.2020, PQ, mastering display and light levels', 'hevc'),
  video('av1-opus.mp4', 'AV1 and Opus', 'av1', 'opus'),
  video('prores-pcm.mov', 'ProRes 422 HQ and PCM, with a time code', 'prores', 'pcm_s24le'),
  video('h264-two-languages.mkv', 'Sound in two languages, subtitles and chapters', 'h264', 'aac', 'aac', 'subrip'),
  video('ffv1-flac.mkv', 'Lossless, as in archives', 'ffv1', 'flac'),
  video('vp9-opus.webm', 'VP9 and Opus', 'vp9', 'opus'),
  video('vp8-vorbis.webm', 'VP8 and Vorbis', 'vp8', 'vorbis'),
  video('mpeg2-interlaced.ts', 'A transport stream: MPEG-2, interlaced, with MPEG audio', 'mpeg2video', 'mp2'),
  video('mpeg2-ac3.mpg', 'A program stream, as on DVDs', 'mpeg2video', 'ac3'),
  video('mpeg2-pcm.mxf', 'MXF (OP1a) with a time code', 'mpeg2video', 'pcm_s16le'),
  video('mpeg4-mp3.avi', 'AVI', 'mpeg4', 'mp3'),
  video('h264-aac.flv', 'Flash video', 'h264', 'aac'),

  audio('pcm.wav', 'PCM, 24 bit', 'pcm_s24le'),
  audio('flac.flac', 'FLAC', 'flac'),
  audio('mp3-cover.mp3', 'MP3 with ID3 tags and a cover, which tools report as video', 'mp3', 'mjpeg'),
  audio('opus.ogg', 'Opus in Ogg', 'opus'),
  audio('aac.m4a', 'AAC', 'aac'),
  audio('alac.m4a', 'Apple Lossless', 'alac'),
  audio('ac3.ac3', 'Dolby Digital 5.1, without a container', 'ac3'),

  stream('hls/main.m3u8', 'HLS: two variants and a sound track in fragmented MP4', 'h264', 'h264', 'aac'),
  stream('hls-faults/main.m3u8', 'HLS with faults: too long a segment, a wrong resolution, a segment that is missing'),
  stream('dash/manifest.mpd', 'DASH: two representations of the picture and one of the sound', 'h264', 'h264', 'aac'),

  signed('c2pa/signed.jpg', 'A C2PA manifest that is valid', 'mjpeg'),
  signed('c2pa/tampered.jpg', 'The same picture, changed after it was signed', 'mjpeg'),
  signed('c2pa/signed.mp4', 'A film with a C2PA manifest that is valid', 'h264', 'aac'),
  signed('c2pa/unsigned.jpg', 'A picture without a manifest', 'mjpeg'),

  broken('broken/cut.mp4', 'The first half of a file whose index is last: nothing can be read'),
  broken('broken/cut-index-first.mp4', 'The first half of a file whose index is first: it can be read', 'h264', 'aac'),
  broken('broken/hole.ts', 'Bytes in the middle are overwritten', 'mpeg2video', 'mp2'),
  broken('broken/renamed.mkv', 'An MP4 whose name ends in .mkv', 'h264', 'aac'),
  broken('broken/text.mp4', 'Text whose name ends in .mp4'),
  broken('broken/empty.mp4', 'A file of no bytes'),
];

/** The one of first requests. */
export const FIRST_SAMPLE = 'h264-aac.mp4';
