/**
 * Generates the file of a recipe with Debian's encoders and muxers, damages it if the recipe says so, and records its
 * true properties.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianPrograms } from './debian.ts';
import { muxAgain } from './mux.ts';
import type { AudioPart, Recipe, VideoPart } from './recipe.ts';
import { random } from './random.ts';
import { truthOf, type Packet } from './truth_of.ts';
import type { Truth } from './truth.ts';

const run = async (args: string[]) =>
  (await debianPrograms()).run('ffmpeg', ['-hide_banner', '-loglevel', 'error', '-nostdin', '-y', ...args], 120_000);

function nameOf({ number, damage, container: { extension } }: Recipe): string {
  const wrong = extension === 'mp4' ? 'mkv' : 'mp4';
  return `${String(number).padStart(4, '0')}.${damage === 'renamed' ? wrong : extension}`;
}

function videoArgs(video: VideoPart, { container }: Recipe): string[] {
  const { codec, colour, range, scan, pixelFormat, sar, bFrames } = video;
  const filters = [
    ...(video.variable ? ["select='not(eq(mod(n\\,7)\\,3)+eq(mod(n\\,11)\\,5)+eq(mod(n\\,11)\\,6))'"] : []),
    ...(codec.name === 'hevc' || codec.name === 'h264' || codec.name === 'av1' ? [] : ['noise=alls=12']),
    `format=${pixelFormat}`,
    `setsar=${sar}`,
    ...(scan === 'progressive' ? [] : [`setfield=${scan}`]),
  ];
  const x265 =
    codec.name === 'hevc' && colour?.transfer === 'smpte2084'
      ? [
          'hdr10=1',
          'repeat-headers=1',
          'master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)',
          'max-cll=1000,400',
        ]
      : [];
  return [
    ...codec.args,
    '-vf',
    filters.join(','),
    ...(codec.name === 'hevc' ? ['-x265-params', ['log-level=error', ...x265].join(':'), '-threads:v', '1'] : []),
    ...(scan === 'progressive' ? [] : [...(codec.interlaced ?? []), '-top', scan === 'tff' ? '1' : '0']),
    ...(colour
      ? ['-color_primaries', colour.primaries, '-color_trc', colour.transfer, '-colorspace', colour.matrix]
      : []),
    ...(range ? ['-color_range', range] : []),
    ...(['h264', 'mpeg4', 'mpeg2video'].includes(codec.name)
      ? ['-bf', bFrames && container.format !== 'avi' ? '2' : '0']
      : []),
    ...(codec.name === 'hevc' && container.format === 'mp4' && !bFrames ? ['-tag:v', 'hvc1'] : []),
    ...(video.variable ? ['-vsync', 'vfr'] : []),
  ];
}

function audioArgs(audio: AudioPart, index: number): string[] {
  const { codec, rate, layout, bitRate, format, language } = audio;
  const of = (option: string, value: string) => [`${option}:a:${index}`, value];
  return [
    ...of('-c', codec.args[1]!),
    ...codec.args.slice(2),
    ...of('-ar', String(rate)),
    ...of('-filter', `aformat=channel_layouts=${layout}${format ? `:sample_fmts=${format}` : ''}`),
    ...(bitRate === undefined ? [] : bitRate.startsWith('q') ? of('-q', bitRate.slice(1)) : of('-b', bitRate)),
    ...(language === undefined ? [] : [`-metadata:s:a:${index}`, `language=${language}`]),
  ];
}

const CHAPTERS =
  ';FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=400\ntitle=One\n' +
  '[CHAPTER]\nTIMEBASE=1/1000\nSTART=400\nEND=800\ntitle=Two\n';
const SUBTITLES = '1\n00:00:00,100 --> 00:00:00,400\nHello\n\n2\n00:00:00,500 --> 00:00:00,700\nAgain\n';

async function encode(recipe: Recipe, folder: string, target: string): Promise<void> {
  const { video, audio, subtitle, container } = recipe;
  const inputs: string[] = [];
  const maps: string[] = [];
  let input = 0;
  if (video) {
    const [top = 25, bottom = 1] = video.rate.split('/').map(Number);
    // Half a frame short of the next one. Not with -frames, which would also end the sound at the last picture.
    const seconds = ((video.frames - 0.5) * bottom) / top;
    const source = `testsrc2=size=${video.width}x${video.height}:rate=${video.rate}:duration=${seconds}`;
    inputs.push('-f', 'lavfi', '-i', source);
    maps.push('-map', String(input++));
  }
  for (const [index, part] of audio.entries()) {
    inputs.push(
      '-f',
      'lavfi',
      '-i',
      `aevalsrc=0.3*sin(${300 + 200 * index}*2*PI*t)+0.1*random(0):s=${part.rate}:d=${part.seconds}`,
    );
    maps.push('-map', String(input++));
  }
  if (subtitle) {
    writeFileSync(join(folder, 'text.srt'), SUBTITLES);
    inputs.push('-i', join(folder, 'text.srt'));
    maps.push('-map', String(input++));
  }
  if (recipe.chapters) {
    writeFileSync(join(folder, 'chapters.txt'), CHAPTERS);
    inputs.push('-f', 'ffmetadata', '-i', join(folder, 'chapters.txt'));
    maps.push('-map_metadata', String(input), '-map_chapters', String(input));
  }
  await run([
    ...inputs,
    ...maps,
    ...(video ? videoArgs(video, recipe) : []),
    ...audio.flatMap(audioArgs),
    ...(subtitle
      ? [
          '-c:s',
          container.subtitles!,
          ...(subtitle.language ? ['-metadata:s:s:0', `language=${subtitle.language}`] : []),
        ]
      : []),
    ...(recipe.videoLanguage ? ['-metadata:s:v:0', `language=${recipe.videoLanguage}`] : []),
    ...(recipe.timecode ? ['-timecode', recipe.timecode] : []),
    ...(recipe.offset ? ['-output_ts_offset', String(recipe.offset)] : []),
    ...recipe.way,
    '-strict',
    '-2',
    '-f',
    container.muxer,
    target,
  ]);
}

async function packetsOf(file: string): Promise<Packet[]> {
  const { run: program } = await debianPrograms();
  const stdout = await program('ffprobe', [
    '-v',
    'error',
    '-show_entries',
    'packet=codec_type,stream_index,pts_time,dts_time,duration_time,size,pos',
    '-of',
    'json',
    file,
  ]);
  return (JSON.parse(stdout) as { packets?: Packet[] }).packets ?? [];
}

const GARBAGE = 3000;
function damaged(bytes: Buffer, { damage, cutAt, number }: Recipe): Buffer {
  const draw = random(number + 1_000_000);
  const garbage = (length: number) => Buffer.from(Array.from({ length }, () => draw.between(1, 254)));
  switch (damage) {
    case 'cut':
      return bytes.subarray(0, Math.floor(bytes.length * cutAt));
    case 'tail-garbage':
      return Buffer.concat([bytes, garbage(GARBAGE)]);
    case 'head-garbage':
      return Buffer.concat([garbage(GARBAGE), bytes]);
    case 'hole': {
      const copy = Buffer.from(bytes);
      const at = Math.floor(bytes.length * cutAt);
      copy.fill(0, at, Math.min(bytes.length, at + 600));
      return copy;
    }
    default:
      return bytes;
  }
}

/**
 * Returns the truth, which is stored beside the file, or undefined if the encoders refuse the combination. An existing
 * file is not generated again.
 */
export async function make(recipe: Recipe, media: string): Promise<{ file: string; truth: Truth } | undefined> {
  const file = join(media, nameOf(recipe));
  const record = `${file}.truth.json`;
  const refused = join(media, `${recipe.number}.refused`);
  if (existsSync(refused)) return undefined;
  if (existsSync(record)) return { file, truth: JSON.parse(readFileSync(record, 'utf8')) as Truth };
  const folder = join(media, `${recipe.number}.work`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    const whole = join(folder, `whole.${recipe.container.extension}`);
    await encode(recipe, folder, whole);
    await muxAgain(recipe, whole, folder, run);
    const packets = await packetsOf(whole);
    const bytes = readFileSync(whole);
    const out = damaged(bytes, recipe);
    writeFileSync(join(folder, 'out'), out);
    renameSync(join(folder, 'out'), file);
    const truth = truthOf(recipe, packets, { whole: bytes.length, size: statSync(file).size });
    writeFileSync(record, JSON.stringify(truth));
    return { file, truth };
  } catch (error) {
    writeFileSync(refused, String((error as { stderr?: string }).stderr ?? error).slice(0, 2000));
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
