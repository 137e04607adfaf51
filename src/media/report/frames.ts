/**
 * The third witness: a few pictures, as ffprobe decodes them. They carry what no container need say: Dolby Vision,
 * HDR10+, light levels, captions, and whether they are interlaced.
 */
import { NOTHING_ELSE } from '../tools/ffprobe_options.ts';
import { captionOptions, firstPackets, type CaptionsRead } from './captions.ts';
import type { FramesOption } from '../tools/probe_report.ts';
import { fromFfprobe as colour } from './normalise/colour.ts';
import { pixelFormat } from './normalise/pixel_format.ts';
import { known, listOf, numberOf, objectOf, positiveOf, tagOf, textOf, type Json, type JsonObject } from './json.ts';
import type { Part } from './compare.ts';
import { streamsOf } from './match.ts';
import type { Caption, Field, Fields, Side, SideStream } from './side.ts';

/** The second picture may be the first with metadata; a third and fourth cost little. */
const FIRST_PICTURES = 4;
const MIDDLE_PICTURES = 2;
/** Of a shorter file the middle shows little that the beginning does not. */
const LONG_SECONDS = 20;
const OPTIONS: Readonly<Record<string, string>> = {
  output_format: 'json',
  show_entries:
    'frame=pts_time,best_effort_timestamp_time,interlaced_frame,top_field_first,repeat_pict,' +
    'color_primaries,color_transfer,color_space:frame_side_data=side_data_type,max_content,max_average,' +
    'vdr_rpu_profile,bl_video_full_range_flag,el_spatial_resampling_filter_flag,disable_residual_flag,vdr_bit_depth',
  threads: '1',
  ...NOTHING_ELSE,
};

/** Codecs whose pictures may carry more than their container declares. ffprobe itself does not decode AV1. */
const OPEN = new Set(['h264', 'hevc', 'mpeg2video']);
const CAPTIONED = new Set([...OPEN, 'av1']);
/** Brands of MP4 in fragments. */
const FRAGMENTS = /iso[5-9]|cmf|dash|msdh|msix/;
/** What these list is read anew at each opening. */
const NO_FILES = new Set(['hls', 'dash', 'rtsp', 'concat']);

/** Options of ffprobe for each run. */
interface FrameOptions {
  /** Prints some pictures. */
  pictures?: Record<string, string>;
  /** Prints some packets, which show whether there are captions: where no picture was decoded. */
  first: Record<string, string>;
  /** Prints more packets, which show what captions there are. */
  captions: Record<string, string>;
}

/** For the first video stream; undefined if there is none, or if nothing is left open. */
export function framesOf(output: Json, frames: FramesOption): FrameOptions | undefined {
  const root = objectOf(output);
  const name = textOf(objectOf(root['format'])['format_name']);
  if (frames === 'never' || name?.split(',').some((one) => NO_FILES.has(one))) return undefined;
  const stream = listOf(root['streams'])
    .map(objectOf)
    .find((one) => one['codec_type'] === 'video' && objectOf(one['disposition'])['attached_pic'] !== 1);
  const index = stream && numberOf(stream['index']);
  if (!stream || index === undefined || !Number.isInteger(index) || index < 0) return undefined;
  const format = objectOf(root['format']);
  const codec = textOf(stream['codec_name']) ?? '';
  const isOpen = frames === 'always' || (OPEN.has(codec) && leavesOpen(stream, codec));
  if (!isOpen && !(CAPTIONED.has(codec) && mayHaveCaptions(format))) return undefined;
  const select_streams = String(index);
  return {
    ...(isOpen
      ? { pictures: { ...OPTIONS, read_intervals: intervals(format), show_frames: 'true', select_streams } }
      : {}),
    first: firstPackets(select_streams),
    captions: captionOptions(select_streams, positiveOf(format['bit_rate'])),
  };
}

/**
 * The middle shows captions and fields that begin later. Only an MP4 with one index leads there in one step: other
 * containers are searched, by up to half of a far file.
 */
function intervals(format: JsonObject): string {
  const seconds = numberOf(format['duration']) ?? 0;
  const first = `%+#${FIRST_PICTURES}`;
  if (!isMp4(format) || isFragmented(format) || seconds < LONG_SECONDS) return first;
  const middle = Math.max(0, numberOf(format['start_time']) ?? 0) + seconds / 2;
  return `${first},${middle.toFixed(3)}%+#${MIDDLE_PICTURES}`;
}

/** Whether the pictures may carry more than is known of the stream. MPEG-2 is the codec of DVD and television. */
const leavesOpen = (stream: JsonObject, codec: string): boolean =>
  codec === 'mpeg2video' || mayBeHdr(stream) || mayBeInterlaced(stream, codec);

/**
 * HDR10+ and Dolby Vision on PQ, or HDR of which nothing is declared, which has ten bits or more. Cameras that write
 * HLG declare their Dolby Vision. Each picture of 1080p costs as much as both tools on an MP4 of some seconds.
 */
function mayBeHdr(stream: JsonObject): boolean {
  const transfer = colour(textOf(stream['color_transfer']));
  if (transfer !== undefined) return transfer === 'smpte2084';
  const depth = pixelFormat(textOf(stream['pix_fmt']))['pixel_format.bit_depth'];
  return typeof depth !== 'number' || depth > 8;
}

/** HEVC hardly has fields: only where one is declared. */
function mayBeInterlaced(stream: JsonObject, codec: string): boolean {
  const order = textOf(stream['field_order']) ?? 'unknown';
  return order !== 'progressive' && (order !== 'unknown' || codec === 'h264');
}

/**
 * Captions inside pictures are those of North American television. Recordings have them, and fragments of MP4, as a
 * packager of a channel writes them. Encoders keep them in a whole MP4 as well, but nearly none of these has any, and
 * one more start of ffprobe would be a fifth of both tools.
 */
const mayHaveCaptions = (format: JsonObject): boolean => !isMp4(format) || isFragmented(format);

const isMp4 = (format: JsonObject): boolean => textOf(format['format_name'])?.split(',').includes('mp4') === true;

function isFragmented(format: JsonObject): boolean {
  const tags = objectOf(format['tags']);
  return FRAGMENTS.test(`${tagOf(tags, 'major_brand') ?? ''} ${tagOf(tags, 'compatible_brands') ?? ''}`);
}

/** What the pictures of the first video stream say. Absent fields are not denied: only few pictures were read. */
export interface Bitstream {
  fields: Fields;
  captions: Caption[];
  /** How many pictures were read; 0: packets alone. */
  pictures: number;
  /** Of how much of the video the captions are known by their names. */
  captionSeconds?: number | undefined;
}

/** `named`: what the packets say of captions, if they were read. */
export function readFrames(output: Json, codec: Field | undefined, named?: CaptionsRead): Bitstream | undefined {
  const printed = listOf(objectOf(output)['frames']).slice(0, FIRST_PICTURES + MIDDLE_PICTURES);
  const frames = printed.map(objectOf).filter(isPicture);
  if (frames.length === 0)
    return named && { fields: {}, pictures: 0, captions: named.captions, captionSeconds: named.seconds };
  const data = frames.flatMap(sideData);
  const of = (pattern: RegExp): JsonObject | undefined => data.find((one) => pattern.test(typeOf(one)));
  const light = of(/^content light level/i);
  const dolby = of(/^dolby vision metadata/i);
  const [first] = frames as [JsonObject];
  const captioned = frames.find((frame) => sideData(frame).some((one) => /A53/.test(typeOf(one))));
  const at = captioned && (numberOf(captioned['pts_time']) ?? numberOf(captioned['best_effort_timestamp_time']));
  return {
    pictures: frames.length,
    // A run over the packets may have ended before the first of them.
    captions: named?.captions.length
      ? named.captions
      : captioned
        ? [{ kind: 'a53', ...(at === undefined ? {} : { first_time: at }) }]
        : [],
    captionSeconds: named?.seconds,
    fields: known<Field>({
      ...(CODES_COLOUR.has(codec) ? coloursOf(first) : {}),
      ...(CODES_FIELDS.has(codec) ? scanOf(frames) : {}),
      'hdr.mastering_display': of(/^mastering display/i) && true,
      'hdr.dynamic': of(/2094-40|HDR10\+/i) && true,
      'hdr.max_cll': light && positiveOf(light['max_content']),
      'hdr.max_fall': light && positiveOf(light['max_average']),
      'hdr.dolby_vision_rpu': of(/^dolby vision/i) && true,
      'hdr.dolby_vision_profile': dolby && codec === 'hevc' ? dolbyProfile(dolby) : undefined,
    }),
  };
}

const coloursOf = (frame: JsonObject) => ({
  'color.primaries': colour(textOf(frame['color_primaries'])),
  'color.transfer': colour(textOf(frame['color_transfer'])),
  'color.matrix': colour(textOf(frame['color_space'])),
});

function scanOf(frames: readonly JsonObject[]) {
  const interlaced = frames.find((frame) => numberOf(frame['interlaced_frame']) === 1);
  return {
    scan_type: interlaced && 'interlaced',
    scan_order: interlaced && (numberOf(interlaced['top_field_first']) === 1 ? 'tff' : 'bff'),
    // Film in 60 fields: some pictures last a field longer.
    pulldown: frames.some((frame) => numberOf(frame['repeat_pict']) === 1) || undefined,
  };
}

/** Whether pictures that ffprobe printed carry captions, of whatever kind; undefined if it decoded none. */
export const showsCaptions = (printed: Buffer | null | undefined): boolean | undefined =>
  printed?.includes('"interlaced_frame"') ? printed.includes('A53 Part 4') : undefined;

/**
 * Codecs whose pictures have their colour, and say whether they are fields. Of others the decoder says what it always
 * says: BT.601 of VP8 and JPEG, and interlaced of DV.
 */
const CODES_COLOUR = new Set<Field | undefined>('h264 hevc vvc av1 vp9 mpeg2video mpeg4 prores'.split(' '));
const CODES_FIELDS = new Set<Field | undefined>('h264 hevc vvc mpeg2video mpeg4 prores vc1 dnxhd'.split(' '));

/** Of every picture ffprobe says whether it is interlaced. */
const isPicture = (frame: JsonObject): boolean => numberOf(frame['interlaced_frame']) !== undefined;

const sideData = (frame: JsonObject): JsonObject[] => listOf(frame['side_data_list']).slice(0, 100).map(objectOf);
const typeOf = (data: JsonObject): string => textOf(data['side_data_type']) ?? '';

/** As FFmpeg and libdovi derive it for HEVC from the header of an RPU, which does not have it. */
function dolbyProfile(rpu: JsonObject): number | undefined {
  const flag = (name: string): boolean => numberOf(rpu[name]) === 1;
  switch (numberOf(rpu['vdr_rpu_profile'])) {
    case 0:
      return flag('bl_video_full_range_flag') ? 5 : undefined;
    case 1:
      if (!flag('el_spatial_resampling_filter_flag') || flag('disable_residual_flag')) return 8;
      return numberOf(rpu['vdr_bit_depth']) === 12 ? 7 : 4;
    default:
      return undefined;
  }
}

/**
 * Where the stream declares no colour, the decoder repeats the container's: only a value that differs from what ffprobe
 * says of the container was read from the stream.
 */
export function witnessed({ fields }: Bitstream, ffprobe: Fields | undefined): [string, Field][] {
  return Object.entries(fields).filter(([field, value]) => !field.startsWith('color.') || ffprobe?.[field] !== value);
}

/** Only pictures have these: the tools cannot disagree with them. */
export const ONLY_PICTURES: ReadonlySet<string> = new Set(['hdr.dolby_vision_rpu', 'pulldown']);

/**
 * Captions of a video: those of its pictures, and those that a tool lists as streams of its number.
 *
 * `listed`: all streams with captions.
 */
export function captionsOf({ pair }: Part, listed: readonly SideStream[], read: readonly Caption[] = []): Caption[] {
  const own = streamsOf(pair);
  const numbers = new Set(own.flatMap(({ id }) => id ?? []));
  const inside = listed.filter((one) => own.includes(one) || (one.id !== undefined && numbers.has(one.id)));
  const isNews = ({ kind, service }: Caption): boolean =>
    kind === 'a53'
      ? read.length === 0
      : !read.some((one) => one.kind === kind && (service === undefined || one.service === service));
  return [...read, ...inside.flatMap(({ caption }) => (caption && isNews(caption) ? [caption] : []))];
}

/** Whether one of the tools lists a caption of the video: this very one, if its name is known. */
export function isListed(
  listed: readonly SideStream[],
  tools: readonly (Side | undefined)[],
): (one: Caption) => boolean {
  const isCaption = ({ fields }: SideStream): boolean => /^eia_[67]08$/.test(String(fields['codec.name'] ?? ''));
  const anything = tools.some((side) => side?.streams.some(isCaption));
  return ({ service }) =>
    service === undefined ? anything : listed.some(({ caption }) => caption?.service === service);
}
