/** Reads mediainfo's JSON, of every version, into the fields that both tools share. */
import { known, listOf, numberOf, objectOf, positiveOf, table, textOf, type Json, type JsonObject } from '../json.ts';
import type { Caption, Fields, Side, SideStream, Sign, StreamType } from '../side.ts';
import { codecOf, MEDIAINFO_PROFILES, profileOf } from './codec.ts';
import { fromMediainfo as colour, rangeOf } from './colour.ts';
import { fromMediainfo as container } from './container.ts';
import { languageOf } from './language.ts';
import { layoutOfSpeakers } from './layout.ts';
import { clockwise, rateOf, reduced, written } from './ratio.ts';

const MOST_TRACKS = 2000;
const TYPES = table<StreamType>({
  Video: 'video',
  Audio: 'audio',
  Text: 'subtitle',
  Image: 'video',
  Other: 'data',
});

export function readMediainfo(output: Json, version: string): Side | undefined {
  const root = objectOf(listOf(output)[0]);
  const media = objectOf(listOf(root['media'])[0]);
  const tracks = listOf(media['track']).slice(0, MOST_TRACKS).map(objectOf);
  const general = tracks.find((track) => track['@type'] === 'General');
  const listed = tracks.filter((track) => TYPES[textOf(track['@type']) ?? ''] !== undefined);
  const all = general ?? {};
  // For unrecognised data mediainfo reports only the size.
  if (listed.length === 0 && textOf(all['Format']) === undefined) return undefined;
  const extra = objectOf(all['extra']);
  const containerName = textOf(all['Format']) ?? '';
  const streams = listed.map((track, order) => streamOf(track, order, containerName));
  const count = (type: StreamType) => streams.filter((stream) => stream.type === type && !stream.embedded).length;
  const menu = chaptersOf(tracks);
  const signs: Sign[] = [];
  const stray = strayElements(extra['ConformanceErrors']);
  if (stray) signs.push({ code: 'trailing-data', detail: 'bytes of no known format follow its last element' });
  else if (/^yes$/i.test(textOf(all['IsTruncated']) ?? textOf(extra['IsTruncated']) ?? ''))
    signs.push({ code: 'truncated', detail: 'mediainfo reports that the file is truncated' });
  for (const [index, track] of listed.entries()) signs.push(...signsOf(track, streams[index]!));
  for (const problem of errorsOf(all))
    if (!stray)
      signs.push(
        /truncat/i.test(problem)
          ? { code: 'truncated', detail: 'mediainfo reports that elements are truncated' }
          : { code: 'conformance', detail: `mediainfo: ${problem}` },
      );
  const size = positiveOf(all['FileSize']);
  return {
    tool: 'mediainfo',
    version,
    streams,
    signs,
    chapters: menu,
    container: known<Fields[string]>({
      format: container(textOf(all['Format']), textOf(all['Format_Profile']), textOf(all['CodecID'])),
      duration: positiveOf(all['Duration']),
      size,
      'bitrate.average': positiveOf(all['OverallBitRate']),
      'streams.video': count('video'),
      'streams.audio': count('audio'),
      'streams.subtitle': count('subtitle'),
      chapters: menu.length > 0 ? menu.length : undefined,
      title: textOf(all['Title']) ?? textOf(all['Movie']) ?? textOf(all['Track']),
      encoder: textOf(all['Encoded_Application']),
      brand: textOf(all['CodecID']),
      streamable: yes(all['IsStreamable']),
      data_size: positiveOf(all['DataSize']),
      header_size: positiveOf(all['HeaderSize']),
      footer_size: numberOf(all['FooterSize']),
    }),
  };
}

function streamOf(track: JsonObject, order: number, containerName: string): SideStream {
  const kind = textOf(track['@type']) ?? '';
  const type = TYPES[kind] ?? 'data';
  const id = textOf(track['ID']);
  const codecId = textOf(track['CodecID']) ?? '';
  const codec = codecOf(track, containerName);
  const named = textOf(track['Format_Profile']);
  const profile = (codec === 'aac' ? textOf(track['Format_AdditionalFeatures']) : undefined) ?? named;
  const level = textOf(track['Format_Level']) ?? /@L?([\d.]+b?)/.exec(named ?? '')?.[1];
  const fourCc = fourCcOf(codecId);
  const fields = known<Fields[string]>({
    'codec.name': codec,
    'codec.profile': profileOf(MEDIAINFO_PROFILES, codec, profile),
    'codec.level':
      level !== undefined && (codec === 'h264' || codec === 'hevc') && /^\d/.test(level)
        ? level.replace(/\.0$/, '')
        : undefined,
    'codec.four_cc': fourCc,
    'codec.id': fourCc === undefined ? undefined : Buffer.from(fourCc, 'latin1').readUInt32LE(),
    // With a time code, Delay contains that instead.
    start_time:
      ['MPEG-4', 'MXF'].includes(containerName) && track['Delay_DropFrame'] !== undefined
        ? undefined
        : numberOf(track['Delay']),
    duration: positiveOf(track['Duration']),
    'bitrate.average': positiveOf(track['BitRate']),
    'bitrate.nominal': positiveOf(track['BitRate_Nominal']),
    'bitrate.minimum': positiveOf(track['BitRate_Minimum']),
    'bitrate.maximum': positiveOf(track['BitRate_Maximum']),
    language: languageOf(textOf(track['Language'])),
    title: textOf(track['Title']),
    default: yes(track['Default']),
    forced: yes(track['Forced']),
    encrypted: textOf(track['Encryption']) !== undefined || undefined,
    ...(type === 'video' ? video(track) : type === 'audio' ? audio(track) : {}),
  });
  const caption = captionOf(track, codec, id);
  const number = /\d{1,12}/.exec(id?.split('-')[0] ?? '')?.[0];
  return {
    type,
    order,
    fields,
    id: number === undefined ? undefined : Number(number),
    ...((/CC\d|-\d+$|CEA|EIA/i.test(id ?? '') && kind === 'Text') ||
    /^eia-[67]08$/i.test(textOf(track['Format']) ?? '') ||
    kind === 'Other'
      ? { embedded: true }
      : {}),
    ...(caption ? { caption } : {}),
  };
}

const CAPTIONS = table<Caption['kind']>({ eia_608: 'cea-608', eia_708: 'cea-708' });
const SERVICE = /^(?:CC[1-4]|T[1-4]|[1-9]\d?)$/;

/** Its identifier is that of the video with that of the service: `256-CC1`. A service may be declared and empty. */
function captionOf(track: JsonObject, codec: string | undefined, id: string | undefined): Caption | undefined {
  const kind = CAPTIONS[codec ?? ''];
  const content = textOf(objectOf(track['extra'])['CaptionServiceContent_IsPresent']);
  if (kind === undefined || /^no\b/i.test(content ?? '')) return undefined;
  const service = id?.split('-')[1] ?? '';
  return { kind, ...(SERVICE.test(service) ? { service } : {}) };
}

const YES = table<boolean>({ Yes: true, No: false });
const yes = (value: Json): boolean | undefined => YES[textOf(value) ?? ''];

const RATE_MODES = table<string>({ CFR: 'constant', VFR: 'variable' });
const SCANS = table<string>({
  progressive: 'progressive',
  interlaced: 'interlaced',
  mbaff: 'interlaced',
  paff: 'interlaced',
});
const ORDERS = table<string>({ TFF: 'tff', BFF: 'bff' });
const MODELS = table<string>({ YUV: 'yuv', RGB: 'rgb', Y: 'gray', GRAY: 'gray' });

const MASTERING = ['MasteringDisplay_Luminance', 'MasteringDisplay_ColorPrimaries'];

function video(track: JsonObject): Fields {
  const decimal = positiveOf(track['FrameRate']);
  const [top, bottom] = [positiveOf(track['FrameRate_Num']), positiveOf(track['FrameRate_Den'])];
  const space = textOf(track['ColorSpace'])?.toUpperCase();
  const image = track['@type'] === 'Image';
  const hdr = `${textOf(track['HDR_Format']) ?? ''} ${textOf(track['HDR_Format_Compatibility']) ?? ''}`;
  const dovi = /dv[a-z0-9]{2}\.(\d\d)(?:\.(\d\d))?/.exec(
    `${textOf(track['HDR_Format_Profile']) ?? ''}.${textOf(track['HDR_Format_Level']) ?? ''}`,
  );
  return known<Fields[string]>({
    'size.width': positiveOf(track['Width']),
    'size.height': positiveOf(track['Height']),
    'size.sample_aspect_ratio': positiveOf(track['PixelAspectRatio']),
    'size.display_aspect_ratio': positiveOf(track['DisplayAspectRatio']),
    frame_rate: image
      ? undefined
      : top !== undefined && bottom !== undefined
        ? written(reduced({ numerator: top, denominator: bottom }))
        : decimal === undefined
          ? undefined
          : written(rateOf(decimal)),
    frame_rate_mode: RATE_MODES[textOf(track['FrameRate_Mode']) ?? ''],
    scan_type: SCANS[textOf(track['ScanType'])?.toLowerCase() ?? ''],
    scan_order: ORDERS[textOf(track['ScanOrder'])?.toUpperCase() ?? ''],
    'pixel_format.color_model': MODELS[/^(?:YUV|RGB|Y|GRAY)/.exec(space ?? '')?.[0] ?? ''],
    'pixel_format.chroma_subsampling': /^4:[0-4]:[0-4]/.exec(textOf(track['ChromaSubsampling']) ?? '')?.[0],
    'pixel_format.bit_depth': positiveOf(track['BitDepth']),
    'pixel_format.has_alpha': space?.endsWith('A') || undefined,
    'color.primaries': colour('primaries', textOf(track['colour_primaries'])),
    'color.transfer': colour('transfer', textOf(track['transfer_characteristics'])),
    'color.matrix': colour('matrix', textOf(track['matrix_coefficients'])),
    'color.range': rangeOf(textOf(track['colour_range'])),
    frames_count: image ? undefined : positiveOf(track['FrameCount']),
    rotation: clockwise(numberOf(textOf(track['Rotation'])) ?? 0),
    timecode: textOf(track['TimeCode_FirstFrame']) === '00:00:00:00' ? undefined : textOf(track['TimeCode_FirstFrame']),
    'hdr.mastering_display': MASTERING.some((name) => track[name] !== undefined) || /2086/.test(hdr) || undefined,
    'hdr.dynamic': /2094|HDR10\+/i.test(hdr) || undefined,
    'hdr.max_cll': positiveOf(/\d+/.exec(textOf(track['MaxCLL']) ?? '')?.[0]),
    'hdr.max_fall': positiveOf(/\d+/.exec(textOf(track['MaxFALL']) ?? '')?.[0]),
    'hdr.dolby_vision_profile': /dolby vision/i.test(hdr) && dovi ? Number(dovi[1]) : undefined,
    'hdr.dolby_vision_level': /dolby vision/i.test(hdr) && dovi?.[2] ? Number(dovi[2]) : undefined,
    'hdr.dolby_vision_compatibility': baseOf(track),
  });
}

/** Of the base layer of Dolby Vision. A stream of several formats has a list of each: `HDR10 / HDR10`. */
function baseOf(track: JsonObject): string | undefined {
  const at = (textOf(track['HDR_Format']) ?? '').split(' / ').findIndex((format) => /^dolby vision/i.test(format));
  const base = at === -1 ? undefined : (textOf(track['HDR_Format_Compatibility']) ?? '').split(' / ')[at]?.trim();
  return ['HDR10', 'HLG', 'SDR', 'Blu-ray'].find((one) => one === base);
}

function audio(track: JsonObject): Fields {
  return known<Fields[string]>({
    // Two values if decoders may or may not support the extension (AAC with SBR): the first one is heard.
    sample_rate: positiveOf(first(track['SamplingRate'])),
    channels: positiveOf(first(track['Channels'])),
    channel_layout: layoutOfSpeakers(textOf(track['ChannelLayout'])),
    bit_depth: positiveOf(track['BitDepth']),
  });
}

const first = (value: Json): Json => (typeof value === 'string' ? value.split(' / ')[0] : value);

/** Only four printable characters form a FourCC; an MP4 codec may have a suffix (`mp4a-40-2`). */
function fourCcOf(codecId: string): string | undefined {
  const last = codecId.split(' / ').at(-1) ?? '';
  const plain = /^(?:V_|A_|S_)/.test(last) ? '' : last;
  // WAVE and transport streams have numbers instead.
  return /^[\u0020-\u007e]{4}(?:-|$)/.test(plain) && !/^\d+(?:-|$)/.test(plain) ? plain.slice(0, 4) : undefined;
}

/** Chapters are members of a Menu track named by their time: `_00_01_02_500`. */
function chaptersOf(tracks: readonly JsonObject[]): Side['chapters'] {
  const chapters: Side['chapters'] = [];
  for (const track of tracks.filter((one) => one['@type'] === 'Menu')) {
    for (const [key, value] of Object.entries({ ...track, ...objectOf(track['extra']) })) {
      const time = /^_?(\d\d)[_:](\d\d)[_:](\d\d)[_.](\d{3})$/.exec(key);
      if (!time || chapters.length >= MOST_TRACKS) continue;
      const title = (textOf(value) ?? '').replace(/^[a-z]{2,3}:/, '');
      chapters.push({
        start: Number(time[1]) * 3600 + Number(time[2]) * 60 + Number(time[3]) + Number(time[4]) / 1000,
        ...(title === '' ? {} : { title }),
      });
    }
    if (chapters.length > 0) break;
  }
  return chapters;
}

const WIDELY = 1.2;
/** A single pause of more frames than this indicates a variable frame rate. */
const ONE_PAUSE = 4;

/** A single longer frame, often the last, does not make the frame rate variable. */
function onePause(track: JsonObject, low: number, high: number): boolean {
  const [seconds, frames] = [numberOf(track['Duration']), numberOf(track['FrameCount'])];
  return (
    seconds !== undefined &&
    frames !== undefined &&
    high / low <= ONE_PAUSE &&
    seconds * high - frames <= high / low - 1 + 0.3
  );
}

const ORIGINAL = ['colour_primaries', 'transfer_characteristics', 'matrix_coefficients', 'colour_range'];
const CHECKED: readonly [string, string][] = [
  ['Duration', 'the duration'],
  ['FrameRate', 'the frame rate'],
  ['DisplayAspectRatio', 'the aspect ratio'],
  ['ScanType', 'the scan type'],
];

/** `X_Original` is the stream's value if the container's differs. */
function signsOf(track: JsonObject, stream: SideStream): Sign[] {
  const signs: Sign[] = [];
  const original = (name: string): Json => track[`${name}_Original`];
  const colours = ORIGINAL.filter(
    (name) => track[name] !== undefined && original(name) !== undefined && original(name) !== track[name],
  ).map((name) => `${name} ${textOf(track[name])} and ${textOf(original(name))}`);
  if (colours.length > 0)
    signs.push({
      code: 'color-mismatch',
      detail: `container and stream disagree: ${colours.join(', ')}`,
      stream,
    });
  for (const [name, what] of CHECKED) {
    const [declared, coded] = [textOf(track[name]), textOf(original(name))];
    if (declared !== undefined && coded !== undefined && declared !== coded)
      signs.push({
        code: 'container-mismatch',
        detail: `container and stream disagree on ${what}: ${declared} and ${coded}`,
        stream,
      });
  }
  if (textOf(track['FrameRate_Mode']) === 'VFR') {
    const low = numberOf(track['FrameRate_Minimum']);
    const high = numberOf(track['FrameRate_Maximum']);
    stream.fields['varies'] =
      low !== undefined && high !== undefined && low > 0 && high > low * WIDELY && !onePause(track, low, high)
        ? 'widely'
        : 'a little';
    signs.push({
      code: 'variable-frame-rate',
      detail:
        low !== undefined && high !== undefined
          ? `frame rate from ${low} to ${high}`
          : 'mediainfo reports a variable frame rate',
      stream,
    });
  }
  return signs;
}

/**
 * Top-level element names that no format has: data after the end of a file, read as an element. Matroska's own elements
 * (segment, cluster, cues, tags and others) are numbers too.
 */
const STRAY =
  /^(?:Unknown|.{1,2}|_.{0,2}|_0x(?!8538067_|F43B675_|C53BB6B_|254C367_|14D9B74_|549A966_|654AE6B_|43A770_|941A469_)[0-9A-F]+_)$/;
function strayElements(errors: Json): boolean {
  return listOf(errors)
    .flatMap((one) => Object.keys(objectOf(one)))
    .some((name) => STRAY.test(name));
}

/** `ConformanceErrors` contains nested objects: returns one line per leaf. */
function errorsOf(general: JsonObject): string[] {
  const found: string[] = [];
  const walk = (value: Json, path: string, depth: number): void => {
    if (found.length >= 5 || depth > 6) return;
    const text = textOf(value);
    if (text !== undefined) found.push(`${path}: ${text}`.slice(0, 200));
    else
      for (const [key, member] of Object.entries(objectOf(value)))
        walk(member, path === '' ? key : `${path} ${key}`, depth + 1);
  };
  const errors = objectOf(general['extra'])['ConformanceErrors'];
  if (errors !== undefined) walk(errors, '', 0);
  return found;
}
