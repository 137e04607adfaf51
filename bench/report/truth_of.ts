/** From a recipe and the packets that its muxer wrote to the truth about the file, including any later damage. */
import type { AudioPart, Recipe, VideoPart } from './recipe.ts';
import type { True, Truth, TrueStream } from './truth.ts';

export interface Packet {
  codec_type?: string;
  stream_index?: number;
  pts_time?: string;
  dts_time?: string;
  duration_time?: string;
  size?: string;
  pos?: string;
}

interface Measured {
  frames: number;
  bytes: number;
  start: number | undefined;
  span: number;
  lost: boolean;
}

/** The packets that are completely within the remaining file, which shows what a cut removed. */
function measure(packets: readonly Packet[], index: number, left: number): Measured {
  const all = packets.filter((packet) => packet.stream_index === index);
  const there = all.filter(({ pos, size }) => pos === undefined || Number(pos) + Number(size ?? 0) <= left);
  const times = there.map(({ pts_time, dts_time }) => Number(pts_time ?? dts_time)).filter(Number.isFinite);
  const ends = there
    .map(({ pts_time, dts_time, duration_time }) => Number(pts_time ?? dts_time) + Number(duration_time ?? 0))
    .filter(Number.isFinite);
  const low = times.reduce((a, b) => Math.min(a, b), Infinity);
  const high = ends.reduce((a, b) => Math.max(a, b), -Infinity);
  return {
    frames: there.length,
    bytes: there.reduce((sum, { size }) => sum + Number(size ?? 0), 0),
    lost: there.length < all.length,
    start: times.length > 0 ? low : undefined,
    span: times.length > 0 ? high - low : 0,
  };
}

const range = (...values: number[]): True => ({ min: Math.min(...values), max: Math.max(...values) });
const ratio = (text: string): number => {
  const [top = 1, bottom = 1] = text.split('/').map(Number);
  return top / bottom;
};

/**
 * Some containers put headers before each packet, which one tool counts as bytes of the stream and the other does not.
 */
const FRAMING = 16;
const bitRate = ({ bytes, frames }: Measured, short: number, long: number): True | undefined =>
  short > 0.05 ? { min: (bytes * 8 * 0.99) / long, max: ((bytes + FRAMING * frames) * 8 * 1.01) / short } : undefined;

const PROFILES: Readonly<Record<string, Record<string, string>>> = {
  h264: {
    yuv420p: 'high',
    yuv420p10le: 'high 10',
    yuv422p: 'high 4:2:2',
    yuv422p10le: 'high 4:2:2',
    yuv444p: 'high 4:4:4 predictive',
  },
  hevc: { yuv420p: 'main', yuv420p10le: 'main 10', yuv422p10le: 'rext', yuv444p: 'rext' },
};

function videoValues(video: VideoPart, recipe: Recipe, measured: Measured): Record<string, True | undefined> {
  const { codec, pixelFormat, width, height, sar } = video;
  const rate = ratio(video.rate);
  const whole = video.variable ? measured.span : video.frames / rate;
  const span = measured.lost ? measured.frames / rate : whole;
  const aspect = ratio(sar);
  const aspectKnown =
    sar === '1/1' ? !['dvvideo', 'h263'].includes(codec.name) : !['mpeg2video', 'mpeg1video'].includes(codec.name);
  const colour = (recipe.remux === undefined ? recipe.relabel : undefined) ?? video.colour;
  const turned = recipe.rotation;
  const full = pixelFormat.startsWith('yuvj');
  return {
    'codec.name': codec.name,
    'codec.profile': PROFILES[codec.name]?.[pixelFormat],
    'size.width': width,
    'size.height': height,
    'size.sample_aspect_ratio': aspectKnown ? aspect : undefined,
    'size.display_aspect_ratio': aspectKnown ? (width / height) * aspect : undefined,
    frame_rate: video.variable
      ? measured.lost
        ? undefined
        : range(((measured.frames - 1) / span) * 0.99, (measured.frames / Math.max(0.01, span - 2 / rate)) * 1.01)
      : rate,
    frame_rate_mode: video.variable ? 'variable' : 'constant',
    scan_type: video.scan === 'progressive' ? 'progressive' : 'interlaced',
    scan_order: video.scan === 'progressive' || codec.name === 'dvvideo' ? undefined : video.scan,
    'pixel_format.color_model': 'yuv',
    'pixel_format.chroma_subsampling': /4(?:20|22|44)/.exec(pixelFormat)?.[0].split('').join(':'),
    'pixel_format.bit_depth':
      codec.name === 'prores' && pixelFormat.includes('444') ? undefined : pixelFormat.includes('10') ? 10 : 8,
    'color.primaries': colour?.primaries,
    'color.transfer': colour?.transfer,
    'color.matrix': colour?.matrix,
    'color.range': full ? 'pc' : recipe.relabel ? undefined : video.range,
    frames_count: video.variable || measured.lost ? measured.frames : video.frames,
    duration: measured.lost ? range(span, measured.span) : range(span, video.variable ? span + 2 / rate : span),
    start_time: measured.lost ? undefined : measured.start,
    'bitrate.average': bitRate(measured, span, span),
    rotation: turned,
    language: recipe.videoLanguage,
  };
}

function audioValues(audio: AudioPart, measured: Measured): Record<string, True | undefined> {
  const { codec, format } = audio;
  const span = measured.span > 0 ? measured.span : audio.seconds;
  return {
    'codec.name': codec.name,
    sample_rate: audio.rate,
    channels: { mono: 1, stereo: 2, quad: 4, '5.1': 6, '5.1(side)': 6, '7.1': 8 }[audio.layout],
    channel_layout: audio.layout === 'quad' ? undefined : audio.layout,
    bit_depth: codec.depth ?? (format === undefined ? undefined : format.startsWith('s16') ? 16 : 24),
    duration: measured.lost ? range(span, span) : range(audio.seconds, span),
    start_time: measured.lost || measured.start === undefined ? undefined : measured.start,
    'bitrate.average': measured.lost
      ? bitRate(measured, span, span)
      : bitRate(measured, Math.min(audio.seconds, span), Math.max(audio.seconds, span)),
    language: audio.language,
  };
}

const known = (values: Record<string, True | undefined>): Record<string, True> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, True] => entry[1] !== undefined));

export function truthOf(
  recipe: Recipe,
  packets: readonly Packet[],
  { whole, size }: { whole: number; size: number },
): Truth {
  const left = recipe.damage === 'cut' ? size : whole;
  const streams: TrueStream[] = [];
  const measures: Measured[] = [];
  const measured = (): Measured => {
    const found = measure(packets, streams.length, left);
    measures.push(found);
    return found;
  };
  if (recipe.video) streams.push({ type: 'video', values: known(videoValues(recipe.video, recipe, measured())) });
  for (const audio of recipe.audio) streams.push({ type: 'audio', values: known(audioValues(audio, measured())) });
  // The GStreamer pipelines carry one picture and one sound.
  if (recipe.subtitle && (recipe.remux === undefined || recipe.remux === 'mkvmerge')) {
    streams.push({
      type: 'subtitle',
      values: known({
        'codec.name': { mov_text: 'mov_text', srt: 'subrip', webvtt: 'webvtt' }[recipe.container.subtitles ?? ''],
        language: recipe.subtitle.language,
      }),
    });
  }
  const starts = measures.map(({ start }) => start).filter((start) => start !== undefined);
  const spans = streams.map(({ values }) => values['duration']).filter((value) => typeof value === 'object');
  const longest = spans.reduce((most, { max }) => Math.max(most, max), 0);
  const least = spans.reduce((most, { min }) => Math.max(most, min), 0);
  const spread = starts.length > 0 ? Math.max(...starts) - Math.min(...starts) : 0;
  return {
    number: recipe.number,
    damage: recipe.damage,
    container: {
      format: recipe.container.format,
      size,
      ...(longest > 0
        ? {
            duration: range(least, longest + spread + recipe.offset),
            'bitrate.average': range((size * 8 * 0.99) / (longest + spread + recipe.offset), (size * 8 * 1.01) / least),
          }
        : {}),
      'streams.video': streams.filter(({ type }) => type === 'video').length,
      'streams.audio': streams.filter(({ type }) => type === 'audio').length,
      'streams.subtitle': streams.filter(({ type }) => type === 'subtitle').length,
      ...(recipe.chapters && (recipe.remux === undefined || recipe.remux === 'mkvmerge') ? { chapters: 2 } : {}),
    },
    streams,
    warnings: [
      ...(recipe.damage === 'cut' ? ['truncated'] : []),
      ...(recipe.damage === 'renamed' ? ['extension-mismatch'] : []),
      ...(recipe.video?.variable ? ['variable-frame-rate'] : []),
    ],
  };
}
