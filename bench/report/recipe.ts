/** One file to generate. Its number determines the recipe and with it all true properties. */
import { AUDIO, CONTAINERS, VIDEO, type AudioCodec, type ContainerKind, type VideoCodec } from './codecs.ts';
import { random, type Random } from './random.ts';

export interface VideoPart {
  codec: VideoCodec;
  width: number;
  height: number;
  sar: string;
  rate: string;
  pixelFormat: string;
  scan: 'progressive' | 'tff' | 'bff';
  colour: Colour | undefined;
  range: 'tv' | 'pc' | undefined;
  variable: boolean;
  frames: number;
  bFrames: boolean;
}
export interface AudioPart {
  codec: AudioCodec;
  rate: number;
  layout: string;
  seconds: number;
  bitRate: string | undefined;
  format: string | undefined;
  language: string | undefined;
}
export interface Colour {
  primaries: string;
  transfer: string;
  matrix: string;
}
export type Damage = 'none' | 'cut' | 'tail-garbage' | 'head-garbage' | 'hole' | 'renamed';

export interface Recipe {
  number: number;
  container: ContainerKind;
  way: string[];
  video: VideoPart | undefined;
  audio: AudioPart[];
  subtitle: { language: string | undefined } | undefined;
  chapters: boolean;
  offset: number;
  videoLanguage: string | undefined;
  timecode: string | undefined;
  rotation: 0 | 90 | 180 | 270;
  remux: NonNullable<ContainerKind['remux']>[number] | undefined;
  /** Colour tags of the container that differ from the bitstream. */
  relabel: Colour | undefined;
  damage: Damage;
  cutAt: number;
}

const SIZES: [number, number][] = [
  [64, 48],
  [128, 72],
  [160, 120],
  [96, 54],
  [176, 144],
  [320, 180],
  [130, 98],
  [352, 288],
  [240, 136],
];
const RATES = [
  '24000/1001',
  '24/1',
  '25/1',
  '25/1',
  '30000/1001',
  '30000/1001',
  '30/1',
  '50/1',
  '60000/1001',
  '15/1',
  '12/1',
  '10/1',
  '60/1',
];
const SARS = ['1/1', '1/1', '1/1', '16/11', '12/11', '64/45', '4/3', '10/11'];
const COLOURS: Colour[] = [
  { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709' },
  { primaries: 'smpte170m', transfer: 'smpte170m', matrix: 'smpte170m' },
  { primaries: 'bt470bg', transfer: 'smpte170m', matrix: 'bt470bg' },
  { primaries: 'bt2020', transfer: 'smpte2084', matrix: 'bt2020nc' },
  { primaries: 'bt2020', transfer: 'arib-std-b67', matrix: 'bt2020nc' },
  { primaries: 'bt2020', transfer: 'bt2020-10', matrix: 'bt2020nc' },
];
const LANGUAGES = [undefined, undefined, 'eng', 'fra', 'deu', 'jpn', 'spa'];

const DRAW = CONTAINERS.flatMap((container) => Array.from({ length: container.weight }, () => container));

function drawVideo(draw: Random, container: ContainerKind): VideoPart {
  const codec = VIDEO[draw.pick(container.video)]!;
  const [width, height] = codec.size ?? draw.pick(SIZES);
  const pixelFormat = draw.pick(codec.pixelFormats);
  const rate = draw.pick(codec.rates ?? RATES);
  const interlaced =
    codec.interlaced !== undefined &&
    pixelFormat.endsWith('p') &&
    draw.chance(0.15) &&
    ['25/1', '30000/1001'].includes(rate);
  const colour =
    (codec.colour === true || container.colour === true) && draw.chance(0.45) ? draw.pick(COLOURS) : undefined;
  const [top = 25, bottom = 1] = rate.split('/').map(Number);
  return {
    codec,
    width,
    height,
    pixelFormat,
    rate,
    colour,
    sar: codec.size === undefined && (codec.aspect === true || container.aspect === true) ? draw.pick(SARS) : '1/1',
    scan: interlaced ? draw.pick(['tff', 'tff', 'bff'] as const) : 'progressive',
    range: colour && codec.colour === true && draw.chance(0.5) ? draw.pick(['tv', 'pc'] as const) : undefined,
    variable: container.variable === true && !interlaced && draw.chance(0.12),
    frames: Math.max(8, Math.round((draw.between(8, 30) / 10) * (top / bottom))),
    bFrames: draw.chance(0.6),
  };
}

function drawAudio(draw: Random, container: ContainerKind, seconds: number): AudioPart {
  const codec = AUDIO[draw.pick(container.audio)]!;
  return {
    codec,
    rate: container.format === 'mxf' ? 48_000 : draw.pick(codec.rates),
    layout: draw.pick(codec.layouts),
    seconds,
    bitRate: codec.bitRates && draw.pick(codec.bitRates),
    format: codec.formats && draw.pick(codec.formats),
    language: container.languages === true ? draw.pick(LANGUAGES) : undefined,
  };
}

export function recipe(number: number): Recipe {
  const draw = random(number);
  const container = draw.pick(DRAW);
  const video =
    container.video.length > 0 && (container.audio.length === 0 || container.muxer === 'vob' || draw.chance(0.9))
      ? drawVideo(draw, container)
      : undefined;
  const [top = 25, bottom = 1] = (video?.rate ?? '25/1').split('/').map(Number);
  const seconds = video ? (video.frames * bottom) / top : draw.between(6, 40) / 10;
  const many = container.audio.length > 0 ? (video === undefined ? 1 : draw.pick([0, 1, 1, 1, 1, 2])) : 0;
  // The sound is usually not as long as the picture.
  const audio = Array.from({ length: many }, () =>
    drawAudio(draw, container, Math.round(seconds * draw.pick([1, 1, 1, 0.8, 1.15]) * 1000) / 1000),
  );
  const h264 = video?.codec.name === 'h264' && audio.every(({ codec }) => codec.name === 'aac') && audio.length <= 1;
  const remux = container.remux?.filter((way) => way === 'mkvmerge' || h264);
  const offsets = container.offsets === true && draw.chance(0.12);
  return {
    number,
    container,
    video,
    audio,
    way: container.ways ? draw.pick(container.ways) : [],
    subtitle:
      video && container.subtitles !== undefined && draw.chance(0.15) ? { language: draw.pick(LANGUAGES) } : undefined,
    chapters: container.chapters === true && draw.chance(0.12),
    offset: offsets ? draw.pick([0.5, 1.4, 3]) : 0,
    videoLanguage: video && container.languages === true && draw.chance(0.3) ? draw.pick(LANGUAGES) : undefined,
    timecode:
      video &&
      ['mov', 'mxf', 'mp4'].includes(container.format) &&
      ['25/1', '24/1', '30/1'].includes(video.rate) &&
      draw.chance(0.15)
        ? '01:00:00:00'
        : undefined,
    rotation:
      video?.codec.rotates === true && ['mp4', 'mov'].includes(container.format) && draw.chance(0.1)
        ? draw.pick([90, 180, 270] as const)
        : 0,
    remux: remux && remux.length > 0 && draw.chance(0.3) ? draw.pick(remux) : undefined,
    relabel:
      video?.codec.colour === true && video.colour && container.colour === true && draw.chance(0.12)
        ? draw.pick(COLOURS)
        : undefined,
    damage: draw.chance(0.2)
      ? draw.pick(['cut', 'cut', 'cut', 'tail-garbage', 'head-garbage', 'hole', 'renamed'] as const)
      : 'none',
    cutAt: draw.between(25, 92) / 100,
  };
}
