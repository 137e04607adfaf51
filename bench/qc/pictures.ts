/** What pictures and waveforms add to the content checks of one film, in CPU seconds of the program: both in turns. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checked } from './program.ts';

const PAIRS = 3;
const SECONDS = '60';
const CUTIME = 13;

/** Of ended children of this process, in hundredths of a second in /proc. */
function cpuOfChildren(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[CUTIME]) + Number(fields[CUTIME + 1])) / 100;
}

export async function pictures(program: readonly string[], folder: string): Promise<string[][]> {
  const film = join(folder, 'film.mp4');
  const picture = ['-f', 'lavfi', '-t', SECONDS, '-i', 'testsrc2=s=1920x1080:r=25'];
  const sound = ['-f', 'lavfi', '-t', SECONDS, '-i', 'anoisesrc=c=pink:a=0.3:r=48000,aformat=channel_layouts=stereo'];
  const coded = ['-c:v', 'libx264', '-preset', 'ultrafast', '-b:v', '6M', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
  execFileSync('ffmpeg', ['-v', 'error', ...picture, ...sound, ...coded, '-y', film]);
  const secondsOf = async (options: Record<string, string>): Promise<number> => {
    const begun = cpuOfChildren();
    const report = await checked(program, film, options);
    if (!report || report.cut !== undefined) throw new Error(`the checks were cut short: ${report?.cut}`);
    return cpuOfChildren() - begun;
  };
  const rows: string[][] = [];
  for (let pair = 1; pair <= PAIRS; pair += 1) {
    const [plain, pictured] = [await secondsOf({}), await secondsOf({ pictures: 'true' })];
    rows.push([String(pair), `${plain.toFixed(1)} s`, `${pictured.toFixed(1)} s`, (pictured / plain).toFixed(2)]);
  }
  return rows;
}
