/**
 * Content checks of a film of 1080p: how fast they go, beside a bare decode by the same program, and what a probe takes
 * on the same node meanwhile, beside the same probes before.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fixtures, type Answer, type Cluster } from '../../test/cluster/fixture.ts';
import { one, type Measurement, type Row } from '../measurement.ts';
import { toolIn } from '../qc/program.ts';
import { serveFiles } from '../source/near_files.ts';
import { summary } from '../statistics.ts';
import { expectOk, paced, partOf, withCluster } from './rig.ts';

const exec = promisify(execFile);
const SECONDS = 240;
const TURNS = 2;
const ALONE = 150;
const WARM_UP = 50;
const MINUTES = 10;

/** Pictures with noise in them, so that a decoder has something to do. */
function makeFilm(folder: string): string {
  const film = join(folder, 'film.mp4');
  const picture = ['-f', 'lavfi', '-t', String(SECONDS), '-i', 'testsrc2=s=1920x1080:r=25,noise=alls=6:allf=t'];
  const sound = ['-f', 'lavfi', '-t', String(SECONDS), '-i', 'anoisesrc=c=pink:a=0.3:r=48000'];
  const coded = ['-c:v', 'libx264', '-preset', 'superfast', '-b:v', '8M', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
  execFileSync('ffmpeg', ['-v', 'error', ...picture, ...sound, ...coded, '-y', film]);
  return film;
}

/** How often real time. */
async function decoded(program: readonly string[], film: string): Promise<number> {
  const [command = '', ...given] = program;
  const begun = performance.now();
  await exec(command, [...given, '-v', 'error', '-nostdin', '-i', film, '-f', 'null', '-']);
  return SECONDS / ((performance.now() - begun) / 1000);
}

interface Turn {
  alone: number[];
  beside: number[];
  /** Times real time. */
  decode: number;
  checks: number;
  checksBeside: number;
}

async function turn(c: Cluster, origin: string, film: string, program: readonly string[]): Promise<Turn> {
  const { token } = await c.newToken();
  const probe = async (): Promise<number> =>
    expectOk(await c.probe({ url: `${origin}/tiny.mp4`, only: 'ffprobe' }, { token })).ms;
  const alone = await paced(ALONE, WARM_UP, probe);
  const decode = await decoded(program, film);
  const asked = { url: `${origin}/film.mp4`, only: 'qc', qc: { timeout: MINUTES * 60_000 } };
  const check = (): Promise<Answer> => c.probe(asked, { token, signal: AbortSignal.timeout(MINUTES * 60_000) });
  const speedOf = (answer: Answer): number => SECONDS / (partOf(expectOk(answer), 'qc').duration / 1000);
  const checks = speedOf(await check());
  const over = new AbortController();
  const beside: number[] = [];
  const [answer] = await Promise.all([
    check().finally(() => over.abort()),
    (async () => {
      while (!over.signal.aborted) beside.push(...(await paced(1, 0, probe)));
    })(),
  ]);
  return { alone, beside, decode, checks, checksBeside: speedOf(answer) };
}

export const besideChecks: Measurement = {
  name: 'checks',
  title: 'content checks of 1080p h264, and probes beside them, one at a time',
  measure: (report) =>
    withCluster(async (c) => {
      const folder = mkdtempSync(join(tmpdir(), 'probeyard-checks-'));
      try {
        const film = makeFilm(folder);
        const tiny = join(fixtures, 'tiny.mp4');
        const { url } = await c.origin(
          serveFiles([
            { name: 'film.mp4', path: film },
            { name: 'tiny.mp4', path: tiny },
          ]),
        );
        const { command } = await toolIn('qc', join(folder, 'image'));
        const turns: Turn[] = [];
        for (let index = 0; index < TURNS; index++) {
          const made = await turn(c, url, film, command);
          turns.push(made);
          report(`checks ${made.checks.toFixed(1)} x real time, a bare decode ${made.decode.toFixed(1)} x`);
        }
        const [alone, beside] = [
          summary(turns.flatMap((made) => made.alone)),
          summary(turns.flatMap((made) => made.beside)),
        ];
        return [
          {
            name: 'checks-probe',
            what: 'a probe while a film is checked on its node; ratio of the 99th percentiles',
            unit: 'ms',
            values: beside,
            against: { what: `before, p99 ${alone.p99.toFixed(0)}`, values: alone },
            ratio: beside.p99 / alone.p99,
          },
          ...turns.map(({ checks, checksBeside, decode }): Row => ({
            name: 'checks-speed',
            what: 'all checks of a film, times real time',
            unit: '×',
            values: one(checks),
            against: { what: 'a bare decode, same program', values: one(decode) },
            note: `${checksBeside.toFixed(1)} with the probes beside them`,
          })),
        ];
      } finally {
        rmSync(folder, { recursive: true });
      }
    }),
};
