/** A file and its streams in a few words each. What is not known is left out. */
import { bitRate, bytes, duration, several } from '../../base/scaled.ts';
import type { ProbeReport, ReportStream } from '../../api_types.ts';

const listed = (parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== '').join(', ');

function rate({ numerator, denominator }: { numerator: number; denominator: number }): string | undefined {
  if (numerator === 0 || denominator === 0) return undefined;
  const fps = numerator / denominator;
  return `${Number.isInteger(fps) ? fps : fps.toFixed(3)} fps`;
}

const sizeWords = ({ size }: ReportStream): string | undefined =>
  size?.width === undefined || size.height === undefined ? undefined : `${size.width}x${size.height}`;

const colours = ({ color, hdr }: ReportStream): string =>
  listed([
    color?.primaries,
    color?.transfer,
    color?.range && `range ${color.range}`,
    hdr?.formats?.join(' '),
    hdr?.dolby_vision_profile === undefined ? undefined : `profile ${hdr.dolby_vision_profile}`,
    hdr?.max_cll === undefined ? undefined : `at most ${hdr.max_cll} cd/m²`,
  ]);

export function streamWords(stream: ReportStream): string {
  const { frame_rate: fps, pixel_format: pixels, scan_type: scan, bitrate, language } = stream;
  const { sample_rate: sampling, channels, channel_layout: layout, bit_depth: depth } = stream;
  return listed([
    sizeWords(stream),
    fps && rate(fps),
    pixels &&
      [pixels.color_model, pixels.chroma_subsampling, pixels.bit_depth && `${pixels.bit_depth} bit`]
        .filter(Boolean)
        .join(' '),
    scan,
    colours(stream),
    stream.captions && ['captions', ...stream.captions.flatMap(({ service }) => service ?? [])].join(' '),
    sampling === undefined ? undefined : `${sampling / 1_000} kHz`,
    channels === undefined ? undefined : several(channels, 'channel'),
    layout,
    depth === undefined ? undefined : `${depth} bit`,
    bitrate?.average ? bitRate(bitrate.average) : undefined,
    language,
    stream.title,
  ]);
}

export const codecWords = ({ codec }: ReportStream): string => listed([codec?.name, codec?.profile, codec?.level]);

// A file in a sentence.

const CODECS = new Map([
  ['h264', 'H.264'],
  ['hevc', 'H.265'],
  ['av1', 'AV1'],
  ['vp9', 'VP9'],
  ['prores', 'ProRes'],
  ['aac', 'AAC'],
  ['ac3', 'AC-3'],
  ['eac3', 'E-AC-3'],
  ['opus', 'Opus'],
  ['mp3', 'MP3'],
]);
const CHANNELS = ['', 'mono', 'stereo', '', '', '', '5.1', '', '7.1'];

function mainWords(stream: ReportStream): string {
  const { type, codec, frame_rate: fps, channels } = stream;
  const name = codec?.name ?? type;
  const speed = fps && rate(fps);
  return [
    CODECS.get(name) ?? name,
    sizeWords(stream),
    speed && `at ${speed}`,
    channels && (CHANNELS[channels] || several(channels, 'channel')),
  ]
    .filter(Boolean)
    .join(' ');
}

/** The first picture and the first sound; how many streams there are besides. */
export function fileSentence({ container, streams }: Pick<ProbeReport, 'container' | 'streams'>): string {
  const { format, duration: seconds, size, bitrate } = container;
  const first = [
    streams.find(({ type, attached_picture: cover }) => type === 'video' && cover !== true),
    streams.find(({ type }) => type === 'audio'),
  ].filter((stream) => stream !== undefined);
  const others = streams.length - first.length;
  return listed([
    format?.toUpperCase() ?? 'unknown format',
    seconds === undefined ? undefined : duration(seconds * 1_000),
    size === undefined ? undefined : bytes(size),
    bitrate?.average ? bitRate(bitrate.average) : undefined,
    ...first.map(mainWords),
    others > 0 ? several(others, 'further stream') : undefined,
  ]);
}
