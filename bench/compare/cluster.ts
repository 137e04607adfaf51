/**
 * The cost of comparing two versions beside the slower of them alone, and what one near origin sends for both, counted
 * by itself, in turns.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Comparison } from '../../src/media/compare/schema.ts';
import { PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import { isAvailable } from '../../src/platform/kube/conditions.ts';
import { byNewest } from '../../src/base/version_order.ts';
import { NAMESPACE, type Answer, type Cluster } from '../../test/cluster/fixture.ts';
import { serveContent } from '../../test/node/origin.ts';
import { expectOk, paced, withCluster } from '../cluster/rig.ts';
import type { Measurement, Row } from '../measurement.ts';
import { summary } from '../statistics.ts';

const COUNT = Number(process.env['BENCH_COUNT'] ?? 60);
const WARM_UP = 5;
const KB = 1000;
const FILE = join(import.meta.dirname, '../../test/fixtures/tiny.mp4');

/** The oldest and the newest version in this cluster. */
async function versionsOf(c: Cluster): Promise<[string, string]> {
  const { items } = await c.kube.listAll(PROBE_TOOLS, { namespace: NAMESPACE });
  const versions = items
    .filter((tool) => tool.spec.tool === 'ffprobe' && isAvailable(tool))
    .map(({ spec }) => spec.version)
    .sort(byNewest);
  if (versions.length < 2) throw new Error('the cluster has fewer than two versions of ffprobe');
  return [versions.at(-1)!, versions[0]!];
}

/** An origin that counts what it sends, headers included. */
async function countingOrigin(c: Cluster): Promise<{ url: string; take(): Sent }> {
  const content = await readFile(FILE);
  let sent: Sent = { requests: 0, bytes: 0 };
  const { url } = await c.origin((request, response) => {
    const { socket } = request;
    const before = socket.bytesWritten;
    sent.requests += 1;
    const of = sent;
    response.once('close', () => (of.bytes += socket.bytesWritten - before));
    serveContent(content, request, response, { 'content-type': 'video/mp4', etag: '"1"' });
  });
  return {
    url: `${url}/tiny.mp4`,
    take() {
      const taken = sent;
      sent = { requests: 0, bytes: 0 };
      return taken;
    },
  };
}

interface Sent {
  requests: number;
  bytes: number;
}
interface Turn {
  ms: number;
  sent: Sent;
}

const times = (turns: readonly Turn[]) => summary(turns.map(({ ms }) => ms));
const kilobytes = (turns: readonly Turn[]) => summary(turns.map(({ sent }) => sent.bytes / KB));
const requests = (turns: readonly Turn[]) => summary(turns.map(({ sent }) => sent.requests)).p50;

export const compared: Measurement = {
  name: 'compare',
  title: 'two versions of ffprobe in one request, beside the slower one alone; near origin',
  measure: (report) =>
    withCluster(async (c) => {
      const { url, take } = await countingOrigin(c);
      const { token } = await c.newToken();
      const versions = await versionsOf(c);
      const calls = [
        () => c.probe({ url, ffprobe: { versions } }, { token, path: '/v1/compare' }),
        ...versions.map((version) => () => c.probe({ url, only: 'ffprobe', ffprobe: { version } }, { token })),
      ];
      const turns: Turn[][] = calls.map(() => []);
      let last: Answer | undefined;
      await paced(COUNT, WARM_UP, async (index) => {
        // Each of the three begins a turn equally often: none is always the first after the pause.
        for (let step = 0; step < calls.length; step++) {
          const at = (index + WARM_UP + step) % calls.length;
          take();
          const answer = expectOk(await calls[at]!());
          if (at === 0) last = answer;
          if (index >= 0) turns[at]!.push({ ms: answer.ms, sent: take() });
        }
      });
      const [both, ...alone] = turns as [Turn[], ...Turn[][]];
      const slower = times(alone[0]!).p50 > times(alone[1]!).p50 ? 0 : 1;
      const single = alone[slower]!;
      const ratios = summary(both.map(({ ms }, turn) => ms / single[turn]!.ms));
      const spread = [ratios.least, ratios.most].map((ratio) => ratio.toFixed(2));
      const { summary: changes } = last!.json as unknown as Comparison;
      report(`${versions.join(' and ')}: ${changes.fields} fields change, ${changes.known} of them known`);
      const what = `ffprobe ${versions[slower]} alone`;
      return [
        {
          name: 'compare-whole',
          what: `whole request, ffprobe ${versions.join(' and ')}`,
          unit: 'ms',
          values: times(both),
          against: { what, values: times(single) },
          ratio: ratios.p50,
          note: `ratio of a turn: ${spread.join(' to ')}, p90 ${ratios.p90.toFixed(2)}`,
        },
        {
          name: 'compare-bytes',
          what: 'sent by the origin',
          unit: 'KB',
          values: kilobytes(both),
          against: { what, values: kilobytes(single) },
          note: `in ${requests(both)} requests, alone in ${requests(single)}`,
        },
      ] satisfies Row[];
    }),
};
