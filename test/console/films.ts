/**
 * Media for pictures of the console: scenes that ffmpeg draws, with grain, so that bit rates, key frames and a ladder
 * look as those of films do. They are free of rights.
 */
import { run } from '../../images/command.ts';

const words = (text: string): string[] => text.split(' ');
const QUIET = words('-hide_banner -loglevel error -nostdin -y');
const SECONDS = 36;

const scene = (source: string): string[] => ['-f', 'lavfi', '-i', source];
/** Three scenes with different movement; the grain is what a camera would add. */
const SCENES = [
  ...scene('mandelbrot=size=640x360:rate=24:maxiter=400:end_scale=0.002:end_pts=500'),
  ...scene('gradients=size=640x360:rate=24:nb_colors=6:speed=0.02:seed=7'),
  ...scene('life=size=320x180:rate=24:mold=12:life_color=#e8c07d:death_color=#27495c:ratio=0.2:seed=9'),
  ...scene(`anoisesrc=color=brown:amplitude=0.2:sample_rate=48000:seed=3:duration=${SECONDS}`),
];
const cut = (input: number, seconds: number, name: string): string =>
  `[${input}:v]trim=duration=${seconds},setpts=PTS-STARTPTS,scale=1920x1080:flags=lanczos,setsar=1,` +
  `format=yuv420p[${name}]`;
const PICTURE = [cut(0, 14, 'a'), cut(1, 12, 'b'), cut(2, 10, 'c')].join(';');
const FILM = `${PICTURE};[a][b][c]concat=n=3,fps=24,noise=alls=9:allf=t,vignette,format=yuv420p[film]`;

const H264 = words('-c:v libx264 -preset veryfast -bf 3 -g 48');
const BT709 = words('-color_primaries bt709 -color_trc bt709 -colorspace bt709');
const AAC = words('-c:a aac -b:a 160k -ac 2');
const HDR10 = [
  'log-level=error:pools=none:hdr10=1:repeat-headers=1',
  'colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc',
  'master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400',
].join(':');

export const NAMES = { film: 'harbour-at-dawn.mp4', hdr: 'harbour-at-dawn-hdr10.mp4', ladder: 'main.m3u8' };

/** Height, bit rate in kbit/s. */
const LADDER = [
  [1080, 4_200],
  [720, 2_300],
  [480, 1_100],
  [240, 400],
] as const;

function ladderOf(from: string): string[] {
  const outputs = LADDER.map((_, index) => `[v${index}]`).join('');
  const scaled = LADDER.map(([height], index) => `[v${index}]scale=-2:${height}[o${index}]`).join(';');
  const each = LADDER.flatMap(([, rate], index) => [
    ...words(`-map [o${index}] -c:v:${index} libx264 -b:v:${index} ${rate}k -maxrate:v:${index} ${rate}k`),
    ...words(`-bufsize:v:${index} ${2 * rate}k`),
  ]);
  const sound = LADDER.flatMap(() => words('-map 0:a'));
  return [
    '-i',
    from,
    '-filter_complex',
    `[0:v]split=${LADDER.length}${outputs};${scaled}`,
    ...each,
    ...sound,
    ...words('-preset veryfast -g 96 -keyint_min 96 -sc_threshold 0 -c:a aac -b:a 128k'),
    ...words('-f hls -hls_time 4 -hls_playlist_type vod -hls_segment_type fmp4 -hls_flags independent_segments'),
    ...words('-hls_fmp4_init_filename init.mp4 -hls_segment_filename v%v-%03d.m4s'),
    '-var_stream_map',
    LADDER.map((_, index) => `v:${index},a:${index}`).join(' '),
    '-master_pl_name',
    NAMES.ladder,
    'v%v.m3u8',
  ];
}

/** A minute or two of encoding. */
export async function makeFilms(folder: string, [program = '', ...before]: readonly string[]): Promise<void> {
  const encode = (args: readonly string[]) =>
    run(program, [...before, ...QUIET, ...args], { cwd: folder, timeoutMs: 1_200_000 });
  const title = ['-metadata', 'title=Harbour at dawn', ...words('-movflags +faststart')];
  await encode([
    ...SCENES,
    '-filter_complex',
    FILM,
    ...words('-map [film] -map 3:a'),
    ...H264,
    ...words('-b:v 5M -maxrate 8M -bufsize 8M'),
    ...BT709,
    ...AAC,
    ...title,
    NAMES.film,
  ]);
  await encode([
    ...words(`-i ${NAMES.film} -t 6 -c:v libx265 -preset ultrafast -b:v 4M -tag:v hvc1 -pix_fmt yuv420p10le`),
    ...words('-color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc -x265-params'),
    HDR10,
    ...words('-c:a copy'),
    ...title,
    NAMES.hdr,
  ]);
  await encode(ladderOf(NAMES.film));
}

/** A picture as WebP: pages of text are smaller without loss. */
export const webpOf = async (ffmpeg: readonly string[], from: string, to: string): Promise<void> => {
  const [program = '', ...before] = ffmpeg;
  const coded = words('-c:v libwebp -lossless 1 -compression_level 6 -pix_fmt bgra -frames:v 1');
  await run(program, [...before, ...QUIET, '-i', from, ...coded, to]);
};

/** Pictures `%04d.png` of a folder as one that moves. */
export async function movingWebp(
  [program = '', ...before]: readonly string[],
  folder: string,
  to: string,
  { rate, quality, width }: { rate: number; quality: number; width: number },
): Promise<void> {
  const shown = [...words(`-framerate ${rate} -i %04d.png -vf`), `scale=${width}:-2:flags=lanczos`];
  const coded = words(`-c:v libwebp_anim -quality ${quality} -compression_level 6 -loop 0`);
  await run(program, [...before, ...QUIET, ...shown, ...coded, to], { cwd: folder, timeoutMs: 600_000 });
}
