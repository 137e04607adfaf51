/**
 * The media of the role `samples`: `node images/samples/make.ts <folder> <ffmpeg>`. Signed files are taken as they are
 * from the folder beside this file (images/sign_samples.ts): what signs them takes minutes to compile.
 */
import { readFileSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from '../command.ts';
import { DERIVED } from './derived.ts';
import { ENCODED, INPUTS, PACKAGED } from './recipe.ts';

const QUIET = ['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'];
const EXACT = ['-threads', '1', '-fflags', '+bitexact', '-flags:v', '+bitexact', '-flags:a', '+bitexact'];
/** Others are made of it. */
const NOT_A_SAMPLE = 'h264-plain.mp4';

/** `ffmpeg`: a command, of which the first is a program. */
export async function makeSamples(folder: string, ffmpeg: readonly string[]): Promise<void> {
  const [program = '', ...before] = ffmpeg;
  const encode = (cwd: string, args: readonly string[]) =>
    run(program, [...before, ...QUIET, ...args.slice(0, -1), ...EXACT, args.at(-1)!], { cwd, timeoutMs: 600_000 });
  const write = async (path: string, content: string | Buffer): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  };

  await mkdir(join(folder, 'c2pa'), { recursive: true });
  for (const [path, text] of Object.entries(INPUTS)) await write(path, text);
  for (const [path, args] of Object.entries(ENCODED)) await encode(folder, [...args, path]);
  for (const [name, args] of Object.entries(PACKAGED)) {
    await mkdir(join(folder, name));
    await encode(join(folder, name), args);
  }
  await cp(join(import.meta.dirname, 'signed'), join(folder, 'c2pa'), { recursive: true });
  for (const [path, derive] of Object.entries(DERIVED))
    await write(
      path,
      derive((from) => readFileSync(join(folder, from))),
    );
  for (const path of [...Object.keys(INPUTS), NOT_A_SAMPLE]) await rm(join(folder, path));
}

if (import.meta.main) {
  const [folder, ...ffmpeg] = process.argv.slice(2);
  if (folder === undefined || ffmpeg.length === 0) throw new Error('usage: make.ts <folder> <ffmpeg>');
  await makeSamples(folder, ffmpeg);
}
