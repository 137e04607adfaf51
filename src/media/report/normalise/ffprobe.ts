/** Reads ffprobe's JSON, of every version, into the fields that both tools share. */
import {
  known,
  listOf,
  numberOf,
  objectOf,
  positiveOf,
  table,
  tagOf,
  textOf,
  wholeOf,
  type Json,
  type JsonObject,
} from '../json.ts';
import { STREAM_TYPES, type Fields, type Side, type SideStream, type Sign, type StreamType } from '../side.ts';
import { FFPROBE_PROFILES, levelOf, profileOf } from './codec.ts';
import { fromFfprobe as colour, rangeOf } from './colour.ts';
import { fromFfprobe as container } from './container.ts';
import { languageOf } from './language.ts';
import { layoutOfName } from './layout.ts';
import { pixelFormat } from './pixel_format.ts';
import { clockwise, fractionOf, reduced, valueOf, written } from './ratio.ts';

const MOST_STREAMS = 2000;
/** Older spellings, and members of a family that mediainfo reports under one name. */
export const FFPROBE_CODECS = table<string>({
  aac_latm: 'aac',
  ssa: 'ass',
  text: 'mov_text',
  dca: 'dts',
  libx264: 'h264',
  xsub: 'dvd_subtitle',
});

export function readFfprobe(output: Json, version: string): Side | undefined {
  const root = objectOf(output);
  const format = objectOf(root['format']);
  const listed = [...listOf(root['streams'])];
  if (Object.keys(format).length === 0 && listed.length === 0) return undefined;
  const tags = objectOf(format['tags']);
  const signs: Sign[] = [];
  const streams = listed.slice(0, MOST_STREAMS).map((value, order) => streamOf(objectOf(value), order));
  variants(listOf(root['programs']), streams, listed);
  for (const stream of streams) signs.push(...signsOf(objectOf(listed[stream.order]), stream));
  const count = (type: StreamType) => streams.filter((stream) => stream.type === type && !stream.picture).length;
  const score = numberOf(format['probe_score']);
  if (score !== undefined && score < 26)
    signs.push({ code: 'uncertain-format', detail: `ffprobe is not sure of the format (score ${score})` });
  const chapters = listOf(root['chapters']).slice(0, MOST_STREAMS).map(objectOf);
  return {
    tool: 'ffprobe',
    version,
    streams,
    signs,
    isProtected: listed.slice(0, MOST_STREAMS).some((value) => sideData(objectOf(value)).some(isForDecryption)),
    container: known({
      format: container(textOf(format['format_name']), tagOf(tags, 'major_brand')),
      duration: positiveOf(format['duration']),
      start_time: numberOf(format['start_time']),
      size: positiveOf(format['size']),
      'bitrate.average': positiveOf(format['bit_rate']),
      'streams.video': count('video'),
      'streams.audio': count('audio'),
      'streams.subtitle': count('subtitle'),
      chapters: 'chapters' in root ? chapters.length : undefined,
      title: tagOf(tags, 'title'),
      encoder: tagOf(tags, 'encoder', 'encoded_by'),
      brand: tagOf(tags, 'major_brand'),
      timecode: tagOf(tags, 'timecode'),
    }),
    chapters: chapters.map((chapter) => ({
      start: numberOf(chapter['start_time']) ?? 0,
      ...known({ end: numberOf(chapter['end_time']), title: tagOf(objectOf(chapter['tags']), 'title') }),
    })),
  };
}

function streamOf(stream: JsonObject, order: number): SideStream {
  const type = STREAM_TYPES.find((one) => one === textOf(stream['codec_type'])) ?? 'data';
  const tags = objectOf(stream['tags']);
  const disposition = objectOf(stream['disposition']);
  const named = textOf(stream['codec_name']);
  const codec =
    named === undefined || named === 'unknown' || named === 'none' ? undefined : (FFPROBE_CODECS[named] ?? named);
  const fourCc = fourCcOf(stream);
  const id = textOf(stream['id']);
  const start = numberOf(stream['start_time']);
  const fields = known<Fields[string]>({
    'codec.name': codec,
    'codec.profile': profileOf(FFPROBE_PROFILES, codec, textOf(stream['profile'])),
    'codec.level': levelOf(codec, wholeOf(stream['level'])),
    'codec.four_cc': fourCc?.text,
    'codec.id': fourCc?.id,
    start_time: start,
    duration: positiveOf(stream['duration']) ?? taggedDuration(tagOf(tags, 'duration'), start),
    'bitrate.average': positiveOf(stream['bit_rate']) ?? positiveOf(tagOf(tags, 'bps')),
    'bitrate.maximum': positiveOf(stream['max_bit_rate']),
    language: languageOf(tagOf(tags, 'language')),
    title: tagOf(tags, 'title'),
    default: flag(disposition['default']),
    forced: flag(disposition['forced']),
    encrypted: ['encv', 'enca', 'enct'].includes(fourCc?.text ?? '') || undefined,
    ...(type === 'video' ? video(stream, tags) : type === 'audio' ? audio(stream) : {}),
  });
  return {
    type,
    order,
    fields,
    id: id === undefined ? undefined : /^0x[0-9a-f]{1,12}$/i.test(id) ? Number.parseInt(id, 16) : wholeOf(id),
    ...(flag(disposition['attached_pic']) === true ? { picture: true } : {}),
    // Before 5.0; later it says so of decoded pictures alone.
    ...(type === 'video' && flag(stream['closed_captions']) === true ? { caption: { kind: 'a53' as const } } : {}),
  };
}

const flag = (value: Json): boolean | undefined =>
  value === undefined ? undefined : value === 1 || value === true || value === '1';

const TIME_BASE = 1000;

function video(stream: JsonObject, tags: JsonObject): Fields {
  const width = positiveOf(stream['width']);
  const height = positiveOf(stream['height']);
  const sar = valueOf(stream['sample_aspect_ratio']);
  const average = fractionOf(stream['avg_frame_rate']);
  const real = fractionOf(stream['r_frame_rate']);
  const told = average ?? real;
  // A time base (1000/1 in Matroska, 90000/1) is not a frame rate.
  const rate = told && told.numerator / told.denominator < TIME_BASE ? told : undefined;
  const depth = positiveOf(stream['bits_per_raw_sample']);
  const pixels = pixelFormat(textOf(stream['pix_fmt']));
  return known<Fields[string]>({
    'size.width': width,
    'size.height': height,
    'size.sample_aspect_ratio': sar !== undefined && sar > 0 ? sar : undefined,
    'size.display_aspect_ratio':
      positiveOf(valueOf(stream['display_aspect_ratio'])) ??
      (width !== undefined && height !== undefined && sar !== undefined && sar > 0
        ? (width / height) * sar
        : undefined),
    frame_rate: rate && written(reduced(rate)),
    ...SCANS[textOf(stream['field_order']) ?? ''],
    ...pixels,
    ...(depth !== undefined && pixels['pixel_format.bit_depth'] === undefined
      ? { 'pixel_format.bit_depth': depth }
      : {}),
    'color.primaries': colour(textOf(stream['color_primaries'])),
    'color.transfer': colour(textOf(stream['color_transfer'])),
    'color.matrix': colour(textOf(stream['color_space'])),
    'color.range':
      rangeOf(textOf(stream['color_range'])) ?? (textOf(stream['pix_fmt'])?.startsWith('yuvj') ? 'pc' : undefined),
    frames_count:
      positiveOf(stream['nb_read_frames']) ??
      positiveOf(stream['nb_frames']) ??
      positiveOf(tagOf(tags, 'number_of_frames')),
    rotation: rotationOf(stream, tags),
    timecode:
      tagOf(tags, 'timecode') ??
      (textOf(stream['timecode']) === '00:00:00:00' ? undefined : textOf(stream['timecode'])),
    ...dynamicRange(stream),
  });
}

const interlaced = (scan_order: 'tff' | 'bff'): Fields => ({ scan_type: 'interlaced', scan_order });
/** By the order of fields. Of two letters the first one is shown first: `tb` is 9 in `fiel` of MP4 and in Matroska. */
const SCANS = table<Fields>({
  progressive: { scan_type: 'progressive' },
  tt: interlaced('tff'),
  bt: interlaced('bff'),
  bb: interlaced('bff'),
  tb: interlaced('tff'),
});

function audio(stream: JsonObject): Fields {
  const channels = positiveOf(stream['channels']);
  return known<Fields[string]>({
    sample_rate: positiveOf(stream['sample_rate']),
    channels,
    channel_layout: layoutOfName(textOf(stream['channel_layout'])),
    bit_depth: positiveOf(stream['bits_per_raw_sample']) ?? positiveOf(stream['bits_per_sample']),
  });
}

/**
 * Of a `pssh` box, at the last stream before it. As the sample entry ffprobe shows the original format of an encrypted
 * stream (`avc1`).
 */
const isForDecryption = (data: JsonObject): boolean =>
  textOf(data['side_data_type'])?.startsWith('Encryption') === true;
const sideData = (stream: JsonObject): JsonObject[] => listOf(stream['side_data_list']).slice(0, 100).map(objectOf);

/** In degrees clockwise, as a player rotates it. */
function rotationOf(stream: JsonObject, tags: JsonObject): number | undefined {
  const tagged = wholeOf(tagOf(tags, 'rotate'));
  const matrix = sideData(stream)
    .map((data) => numberOf(data['rotation']))
    .find((value) => value !== undefined);
  return clockwise(tagged ?? (matrix === undefined ? 0 : -matrix));
}

/** Of the base layer of Dolby Vision, by the number of its signal. */
const BASES = table<string>({ 0: 'none', 1: 'HDR10', 2: 'SDR', 4: 'HLG', 6: 'Blu-ray' });

function dynamicRange(stream: JsonObject): Fields {
  const data = sideData(stream);
  const of = (pattern: RegExp) => data.find((one) => pattern.test(textOf(one['side_data_type']) ?? ''));
  const dovi = of(/DOVI/i);
  const light = of(/content light/i);
  return known<Fields[string]>({
    'hdr.mastering_display': of(/mastering display/i) ? true : undefined,
    'hdr.dynamic': of(/2094-40|HDR10\+|dynamic metadata/i) ? true : undefined,
    'hdr.max_cll': light && positiveOf(light['max_content']),
    'hdr.max_fall': light && positiveOf(light['max_average']),
    'hdr.dolby_vision_profile': dovi && numberOf(dovi['dv_profile']),
    'hdr.dolby_vision_level': dovi && numberOf(dovi['dv_level']),
    'hdr.dolby_vision_compatibility': dovi && BASES[textOf(dovi['dv_bl_signal_compatibility_id']) ?? ''],
  });
}

function fourCcOf(stream: JsonObject): { text: string; id: number } | undefined {
  const text = textOf(stream['codec_tag_string']);
  const tag = textOf(stream['codec_tag']);
  const id = tag !== undefined && /^0x[0-9a-f]{1,8}$/i.test(tag) ? Number.parseInt(tag, 16) : undefined;
  // Containers with small numbers for codecs have no FourCC: [27][0][0][0].
  return text === undefined || id === undefined || text.length !== 4 || text.includes('[') ? undefined : { text, id };
}

/** Matroska's tag contains the end time of the stream. */
function taggedDuration(text: string | undefined, start: number | undefined): number | undefined {
  const found = /^(\d{1,4}):(\d\d):(\d\d(?:\.\d+)?)$/.exec(text ?? '');
  if (!found) return undefined;
  const seconds = Number(found[1]) * 3600 + Number(found[2]) * 60 + Number(found[3]) - Math.max(0, start ?? 0);
  return seconds > 0 ? seconds : undefined;
}

/** The variants of a playlist are programs: a stream belongs to the first that contains it. */
function variants(programs: readonly unknown[], streams: SideStream[], listed: readonly unknown[]): void {
  const byIndex = new Map(
    streams.map((stream) => [wholeOf(objectOf(listed[stream.order])['index']) ?? stream.order, stream]),
  );
  for (const [number, value] of programs.slice(0, MOST_STREAMS).entries()) {
    for (const member of listOf(objectOf(value)['streams']).slice(0, MOST_STREAMS)) {
      const stream = byIndex.get(wholeOf(objectOf(member)['index']) ?? -1);
      if (stream && stream.program === undefined) stream.program = number;
    }
  }
}

const FEW_FRAMES = 10;
/** One or two longer frames, often the last, do not make the frame rate variable. */
const FEW_MISSING = 2.5;
function signsOf(listed: JsonObject, stream: SideStream): Sign[] {
  const signs: Sign[] = [];
  if (stream.type === 'video' && !stream.picture) {
    const average = valueOf(listed['avg_frame_rate']) ?? 0;
    const real = valueOf(listed['r_frame_rate']) ?? 0;
    const frames = Number(stream.fields['frames_count'] ?? FEW_FRAMES);
    const missing = (real - average) * Number(stream.fields['duration'] ?? Infinity);
    const twice = Math.abs(real / average - 2) < 0.1;
    if (
      average > 0 &&
      real > 0 &&
      real <= 1000 &&
      frames >= FEW_FRAMES &&
      Math.abs(real / average - 1) > 0.04 &&
      !twice &&
      !(missing > 0 && missing < FEW_MISSING)
    ) {
      stream.fields['varies'] = 'widely';
      signs.push({
        code: 'variable-frame-rate',
        detail: `average frame rate ${average.toFixed(3)}, base frame rate ${real.toFixed(3)}`,
        stream,
      });
    }
  }
  if (
    (stream.type === 'video' || stream.type === 'audio') &&
    stream.fields['codec.name'] === undefined &&
    stream.fields['encrypted'] !== true
  )
    signs.push({ code: 'unknown-codec', detail: 'ffprobe does not know the codec', stream });
  if (stream.type === 'video' && stream.fields['size.width'] === undefined)
    signs.push({ code: 'no-picture-size', detail: 'ffprobe found no picture size', stream });
  if (stream.type === 'audio' && stream.fields['sample_rate'] === undefined)
    signs.push({ code: 'no-sample-rate', detail: 'ffprobe found no sample rate', stream });
  return signs;
}
