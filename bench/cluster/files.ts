/** Warm requests for files of a near origin, one at a time, beside the bare tools in turns. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Measurement, Row } from '../measurement.ts';
import { nearFiles, serveFiles } from '../source/near_files.ts';
import { summary } from '../statistics.ts';
import { besideBare, withCluster } from './rig.ts';
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
            const requests = await besideBare(c, tools, { url, token, tools: asked, only }, COUNT, WARM_UP);
            const read = requests.map(({ answer }) => (answer.json.metadata?.io_usage ?? 0) / 1e6);
            const whole = summary(requests.map(({ answer }) => answer.ms));
            const bare = summary(requests.map(({ bareMs }) => bareMs));
            report(`${name}, ${label}: ${whole.p50.toFixed(1)} beside ${bare.p50.toFixed(1)} ms`);
            rows.push(
              {
                name: label === 'ffprobe' ? 'files-ffprobe' : 'files-both',
                what: `${name}, ${label}`,
                unit: 'ms',
                values: whole,
                against: { what: 'bare, same binaries', values: bare },
              },
              {
                name: 'files-read',
                what: `— read from the origin, ${name}, ${label}`,
                unit: 'MB',
                values: summary(read),
              },
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
