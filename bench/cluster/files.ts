/** Warm requests for files of a near origin, one at a time, beside the bare tools in turns. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Measurement, Row } from '../measurement.ts';
import { nearFiles, serveFiles } from '../source/near_files.ts';
import { summary } from '../statistics.ts';
import { expectOk, paced, withCluster } from './rig.ts';
import { bareTools } from './tools.ts';

const COUNT = Number(process.env['BENCH_COUNT'] ?? 60);
const WARM_UP = 8;

export const nearRequests: Measurement = {
  name: 'files',
  title: 'files of a near origin, warm, one at a time, whole request',
  measure: (report) =>
    withCluster(async (c) => {
      const folder = mkdtempSync(join(tmpdir(), 'probeyard-files-'));
      const rows: Row[] = [];
      const { tools, remove } = await bareTools(c, ['ffprobe', 'mediainfo']);
      try {
        const files = nearFiles(folder);
        const origin = await c.origin(serveFiles(files));
        const { token } = await c.newToken();
        for (const { name } of files) {
          const url = `${origin.url}/${name}`;
          for (const [label, asked, only] of [
            ['ffprobe', ['ffprobe'], { only: 'ffprobe' }],
            ['both tools', ['ffprobe', 'mediainfo'], {}],
          ] as const) {
            const [took, alone, read]: [number[], number[], number[]] = [[], [], []];
            await paced(COUNT, WARM_UP, async (index) => {
              const { ms, json } = expectOk(await c.probe({ url, ...only }, { token }));
              const begun = performance.now();
              await Promise.all(asked.map((tool) => tools[tool]?.run(url)));
              if (index < 0) return;
              alone.push(performance.now() - begun);
              took.push(ms);
              read.push((json.metadata?.io_usage ?? 0) / 1e6);
            });
            const [whole, bare] = [summary(took), summary(alone)];
            report(`${name}, ${label}: ${whole.p50.toFixed(1)} beside ${bare.p50.toFixed(1)} ms`);
            rows.push(
              {
                name: label === 'ffprobe' ? 'files-ffprobe' : 'files-both',
                what: `${name}, ${label}`,
                unit: 'ms',
                values: whole,
                against: { what: 'bare, same binaries', values: bare },
              },
              { name: 'files-read', what: '— read from the origin', unit: 'MB', values: summary(read) },
            );
          }
        }
      } finally {
        remove();
        rmSync(folder, { recursive: true });
      }
      return rows;
    }),
};
