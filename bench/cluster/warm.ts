/**
 * Warm requests one at a time to a near origin. Measures the time added to the tool's own run time (its `duration` in
 * the envelope) per hop, and the whole request beside the bare tool on the same address, in turns in the same run.
 */
import type { Measurement, Row } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { HOPS, hopsOf, type Timed } from './hops.ts';
import { besideBare, toolMs, withCluster } from './rig.ts';
import { bareTools } from './tools.ts';

const COUNT = Number(process.env['BENCH_COUNT'] ?? 150);
/** After a start, code is still being compiled at the hundredth request. */
const WARM_UP = 200;

export const warm: Measurement = {
  name: 'warm',
  title: 'added to the tool, warm, one at a time; near origin',
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const url = `${origin.url}/tiny.mp4`;
      const { token } = await c.newToken();
      const rows: Row[] = [];
      const { tools, remove } = await bareTools(c, ['ffprobe', 'mediainfo']);
      try {
        for (const [label, only] of [
          ['ffprobe', { only: 'ffprobe' }],
          ['both tools', {}],
        ] as const) {
          const asked = label === 'ffprobe' ? ['ffprobe'] : ['ffprobe', 'mediainfo'];
          const all = await besideBare(c, tools, { url, token, tools: asked, only }, COUNT, WARM_UP);
          const requests = all.map(({ answer, sentAt }): Timed => ({
            id: answer.json.metadata?.request_id ?? '',
            sentAt,
            ms: answer.ms,
            toolMs: toolMs(answer),
          }));
          const bare = all.map(({ bareMs }) => bareMs);
          const suffix = label === 'ffprobe' ? '' : '-both';
          const whole = summary(requests.map(({ ms }) => ms));
          const added = summary(requests.map((request) => request.ms - request.toolMs));
          rows.push(
            {
              name: `warm-added${suffix}`,
              what: `added to the tool's own run time, ${label}`,
              unit: 'ms',
              values: added,
            },
            {
              name: `warm-whole${suffix}`,
              what: `whole request, near origin, ${label}`,
              unit: 'ms',
              values: whole,
              against: { what: `bare ${asked.join(' and ')}, same binaries`, values: summary(bare) },
            },
          );
          const hops = await hopsOf(c, requests);
          for (const [name, what, of] of HOPS)
            rows.push({
              name: `${name}${suffix}`,
              what: `— ${what}, ${label}`,
              unit: 'ms',
              values: summary(hops.map(of)),
            });
          report(
            `${label}: added p50 ${added.p50.toFixed(1)} p99 ${added.p99.toFixed(1)} ms (least ` +
              `${added.least.toFixed(1)}); ${hops.length} requests found in the logs`,
          );
        }
      } finally {
        remove();
      }
      return rows;
    }),
};
