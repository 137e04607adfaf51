/** What pictures and waveforms add to the content checks of one film: both in turns. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { checked } from './program.ts';

const PAIRS = 3;
const SECONDS = '60';

export async function pictures(program: readonly string[], folder: string): Promise<string[][]> {
  const film = join(folder, 'film.mp4');
  const picture = ['-f', 'lavfi', '-t', SECONDS, '-i', 'testsrc2=s=1920x1080:r=25,noise=alls=12:allf=t'];
  const sound = ['-f', 'lavfi', '-t', SECONDS, '-i', 'anoisesrc=c=pink:a=0.3:r=48000,aformat=channel_layouts=stereo'];
  const coded = ['-c:v', 'libx264', '-preset', 'veryfast', '-b:v', '6M', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
  execFileSync('ffmpeg', ['-v', 'error', ...picture, ...sound, ...coded, '-y', film]);
  const secondsOf = async (options: Record<string, string>): Promise<number> => {
    const begun = performance.now();
    const report = await checked(program, film, options);
    if (report?.video[0]?.decoded === undefined || report.cut !== undefined) throw new Error(`cut: ${report?.cut}`);
    return (performance.now() - begun) / 1_000;
  };
  const rows: string[][] = [];
  for (let pair = 1; pair <= PAIRS; pair += 1) {
    const [plain, pictured] = [await secondsOf({}), await secondsOf({ pictures: 'true' })];
    rows.push([String(pair), `${plain.toFixed(1)} s`, `${pictured.toFixed(1)} s`, (pictured / plain).toFixed(2)]);
  }
  return rows;
}
