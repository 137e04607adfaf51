/**
 * An older version and this one, in turns on one cluster: whole warm requests beside the bare tools, and
 * sustained throughput with the CPU of a job. Each turn installs one of them in place of the other, and the record of
 * requests is lost.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { wholeCluster } from '../../test/faults/whole.ts';
import { MEASURED } from '../../test/older/older.ts';
import { openVersions, type Which } from '../../test/older/versions.ts';
import type { Measurement, Row } from '../measurement.ts';
import { nearFiles, serveFiles, type NearFile } from '../source/near_files.ts';
import { summary } from '../statistics.ts';
import { ready, withPool } from './pool.ts';
import { atRest } from './rest.ts';
import { besideBare } from './rig.ts';
import { cpuLine, flood, PODS } from './throughput.ts';
import { manyTokens } from './tokens.ts';
import { bareTools } from './tools.ts';

const TURNS = Number(process.env['BENCH_TURNS'] ?? 3);
const COUNT = Number(process.env['BENCH_COUNT'] ?? 20);
const WARM_UP = 6;
const [FLOOD_S, FLOOD_WARM_UP_S] = [15, 10];

const ASKED = [
  { label: 'ffprobe', tools: ['ffprobe'], only: { only: 'ffprobe' } },
  { label: 'both tools', tools: ['ffprobe', 'mediainfo'], only: {} },
] as const;
const SCOPES = ['any', 'account'] as const;

/** Values of all turns, by what they are. */
type Figures = Map<string, number[]>;
const add = (to: Figures, name: string, ...values: number[]): void =>
  void to.set(name, [...(to.get(name) ?? []), ...values]);

/** One version, as it is installed now. */
async function turn(
  files: readonly NearFile[],
  to: Figures,
  bare: Figures,
  report: (line: string) => void,
): Promise<string> {
  const c = await wholeCluster();
  const { tools, remove } = await bareTools(c, ['ffprobe', 'mediainfo']);
  const { tokens, revoke } = await manyTokens(c, 4);
  try {
    const origin = await c.origin(serveFiles(files));
    const said: string[] = [];
    for (const scope of SCOPES)
      await withPool(c, { reuse: { scope, maxJobs: 10_000 }, minReady: PODS, maxPods: PODS }, async () => {
        await ready(c, PODS);
        await atRest(report);
        const { rate, cpu } = await flood(c, `${origin.url}/tiny.mp4`, tokens, FLOOD_S, FLOOD_WARM_UP_S);
        add(to, `rate, ${scope}`, rate);
        add(
          to,
          `CPU, ${scope}`,
          cpu.reduce((sum, { msPerJob }) => sum + msPerJob, 0),
        );
        said.push(`${scope} ${rate.toFixed(1)}/s, ${cpuLine(cpu)}`);
      });
    await atRest(report);
    for (const { name } of files)
      for (const { label, tools: asked, only } of ASKED) {
        const url = `${origin.url}/${name}`;
        const from = { url, token: tokens[0]!, tools: asked, only };
        for (const { answer, bareMs } of await besideBare(c, tools, from, COUNT, WARM_UP)) {
          add(to, `${name}, ${label}`, answer.ms);
          add(bare, `${name}, ${label}`, bareMs);
        }
      }
    return said.join('; ');
  } finally {
    remove();
    await revoke();
    await c.close();
  }
}

export const before: Measurement = {
  name: 'before',
  title: `${MEASURED.version} and this version, each installed in turn: whole requests, throughput, CPU of a job`,
  replacesRelease: true,
  async measure(report) {
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-files-'));
    const versions = await openVersions(MEASURED);
    const figures: Record<Which, Figures> = { older: new Map(), newer: new Map() };
    const bare: Figures = new Map();
    try {
      const files = nearFiles(folder);
      for (let index = 0; index < 2 * TURNS; index++) {
        const which = index % 2 === 0 ? 'older' : 'newer';
        await versions.install(which);
        report(`turn ${index + 1}, ${which}: ${await turn(files, figures[which], bare, report)}`);
      }
    } finally {
      await versions.close();
      rmSync(folder, { recursive: true });
    }
    const row = (name: string, what: string, unit: Row['unit'], of: string): Row => ({
      name,
      what,
      unit,
      values: summary(figures.newer.get(of) ?? []),
      against: { what: MEASURED.version, values: summary(figures.older.get(of) ?? []) },
    });
    const requests = [...bare].flatMap(([of, alone]): Row[] => [
      row('before-whole', of, 'ms', of),
      {
        ...row('before-bare', '— beside the bare tools in all turns', 'ms', of),
        against: { what: 'bare, same binaries', values: summary(alone) },
      },
    ]);
    return [
      ...requests,
      ...SCOPES.flatMap((scope): Row[] => [
        row(`before-rate-${scope}`, `sustained, four tokens, scope ${scope}`, 'jobs/s', `rate, ${scope}`),
        row(
          `before-cpu-${scope}`,
          `— CPU of a job, all processes of the cluster, scope ${scope}`,
          'ms',
          `CPU, ${scope}`,
        ),
      ]),
    ];
  },
};
