/** A file and its streams in a few words each. What is not known is left out. */
import { bitRate, bytes, duration, several } from '../../base/scaled.ts';
import type { ReportContainer, ReportStream } from '../../api_types.ts';

const listed = (parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== '').join(', ');

function rate({ numerator, denominator }: { numerator: number; denominator: number }): string | undefined {
  if (numerator === 0 || denominator === 0) return undefined;
  const fps = numerator / denominator;
  return `${Number.isInteger(fps) ? fps : fps.toFixed(3)} fps`;
}

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
  const { size, frame_rate: fps, pixel_format: pixels, scan_type: scan, bitrate, language } = stream;
  const { sample_rate: sampling, channels, channel_layout: layout, bit_depth: depth } = stream;
  return listed([
    size?.width === undefined || size.height === undefined ? undefined : `${size.width}x${size.height}`,
    fps && rate(fps),
    pixels &&
      [pixels.color_model, pixels.chroma_subsampling, pixels.bit_depth && `${pixels.bit_depth} bit`]
        .filter(Boolean)
        .join(' '),
    scan === 'interlaced' ? 'interlaced' : undefined,
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

export const containerWords = ({ format, duration: seconds, size, bitrate }: ReportContainer): string =>
  listed([
    format ?? 'unknown format',
    seconds === undefined ? undefined : duration(seconds * 1_000),
    size === undefined ? undefined : bytes(size),
    bitrate?.average ? bitRate(bitrate.average) : undefined,
  ]);
