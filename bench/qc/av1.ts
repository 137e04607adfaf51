/** Hashes of decoded AV1, beside those of dav1d: a decoder of other people than that of the image, which is libaom. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetchProgram } from '../../test/debian_program.ts';
import { examined, type Programs } from './damage.ts';

const AOM = '-c:v libaom-av1 -cpu-used 8 -crf 40 -b:v 0';
const SVT = '-c:v libsvtav1 -preset 10 -crf 40';

/** Each with a size and an encoder; the scenes move. */
const MADE: readonly [name: string, size: string, options: string][] = [
  ['8 bits, libaom', '192x128', `${AOM} -pix_fmt yuv420p`],
  ['8 bits, SVT-AV1', '192x128', `${SVT} -pix_fmt yuv420p`],
  ['8 bits, rav1e', '192x128', '-c:v librav1e -speed 10 -qp 120 -pix_fmt yuv420p'],
  ['odd width and height', '161x91', `${AOM} -pix_fmt yuv420p`],
  ['odd width and height, 10 bits', '161x91', `${AOM} -pix_fmt yuv420p10le`],
  ['10 bits, libaom', '192x128', `${AOM} -pix_fmt yuv420p10le`],
  ['10 bits, SVT-AV1', '192x128', `${SVT} -pix_fmt yuv420p10le`],
  ['12 bits', '192x128', `${AOM} -pix_fmt yuv420p12le`],
  ['4:2:2', '192x128', `${AOM} -pix_fmt yuv422p`],
  ['4:2:2, 10 bits', '192x128', `${AOM} -pix_fmt yuv422p10le`],
  ['4:4:4', '192x128', `${AOM} -pix_fmt yuv444p`],
  ['4:4:4, 10 bits', '192x128', `${AOM} -pix_fmt yuv444p10le`],
  ['RGB', '192x128', `${AOM} -pix_fmt gbrp`],
  ['grey', '192x128', `${AOM} -pix_fmt gray`],
  ['film grain', '192x128', `${AOM} -pix_fmt yuv420p -aom-params film-grain-test=1`],
  ['film grain, 10 bits', '192x128', `${AOM} -pix_fmt yuv420p10le -aom-params film-grain-test=4`],
  ['film grain, odd width and height', '161x91', `${AOM} -pix_fmt yuv420p -aom-params film-grain-test=9`],
  ['smaller than a block', '16x16', `${AOM} -pix_fmt yuv420p`],
  ['lossless', '192x128', `-c:v libaom-av1 -cpu-used 8 -aom-params lossless=1 -pix_fmt yuv420p`],
  ['four tiles', '512x256', `${AOM} -tiles 2x2 -pix_fmt yuv420p`],
];
const SOURCE = '-v error -y -f lavfi -i';
const SOME_PICTURES = ['-frames:v', '30'];

export const AV1_HEAD = ['film', 'pictures', 'hash of dav1d', 'without its film grain'];

const make = (...args: string[]): void =>
  void execFileSync('ffmpeg', args, { stdio: 'ignore', env: { ...process.env, SVT_LOG: '1' } });

/** Parts of real films, where there are some: `PROBEYARD_CORPUS` names their folder. */
function realFilms(): string[] {
  const corpus = process.env['PROBEYARD_CORPUS'];
  return corpus === undefined ? [] : globSync(join(corpus, 'media/m[kp][v4]/*av1*.m[kp][v4]')).sort();
}

interface Film {
  name: string;
  /** Makes it. */
  args: readonly string[];
}

const films = (count: number): Film[] => [
  ...MADE.slice(0, count).map(([name, size, options]) => ({
    name,
    args: [...SOURCE.split(' '), `testsrc2=s=${size}:r=25`, ...SOME_PICTURES, ...options.split(' ')],
  })),
  ...realFilms().map((file) => ({
    name: `\`${file.split('/').at(-1)}\`, 30 pictures`,
    args: ['-v', 'error', '-y', '-i', file, '-map', '0:v:0', '-c', 'copy', ...SOME_PICTURES],
  })),
];

/** The MD5 of all decoded pictures, by dav1d of Debian. */
async function dav1d(): Promise<(stream: string, grain: 0 | 1) => string> {
  const root = await fetchProgram({ name: 'dav1d', program: 'usr/bin/dav1d' });
  const env = { ...process.env, LD_LIBRARY_PATH: globSync(join(root, 'usr/lib/*-linux-gnu')).join(':') };
  return (stream, grain) => {
    const [hash, asked] = [`${stream}.md5`, ['--alllayers', '0', '--filmgrain', String(grain), '--muxer', 'md5']];
    execFileSync(join(root, 'usr/bin/dav1d'), ['-q', '-i', stream, ...asked, '-o', hash], { env, stdio: 'ignore' });
    return readFileSync(hash, 'utf8').trim();
  };
}

export async function av1(programs: Programs, folder: string, count: number): Promise<string[][]> {
  const hashed = await dav1d();
  const [film, bare] = [join(folder, 'film.mkv'), join(folder, 'film.obu')];
  const rows = [];
  for (const { name, args } of films(count)) {
    make(...args, film);
    make('-v', 'error', '-y', '-i', film, '-c', 'copy', bare);
    const stream = (await examined({ qc: programs.qc, ffprobe: programs.older }, film))?.integrity?.streams[0];
    const isOurs = (grain: 0 | 1): string =>
      hashed(bare, grain) === stream?.hash?.split('=').at(-1) ? 'equal' : 'differs';
    rows.push([name, String(stream?.packets), isOurs(1), isOurs(0)]);
  }
  return rows;
}
