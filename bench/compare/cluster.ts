/**
 * The cost of comparing two versions beside the slower of them alone, and the bytes read from the origin by both, in
 * turns on one near origin.
 */
import type { Comparison } from '../../src/compare/schema.ts';
import { PROBE_TOOLS } from '../../src/kube/client.ts';
import { isAvailable } from '../../src/kube/conditions.ts';
import { byNewest } from '../../src/version_order.ts';
import { NAMESPACE, type Answer, type Cluster } from '../../test/cluster/fixture.ts';
import { expectOk, paced, withCluster } from '../cluster/rig.ts';
import type { Measurement, Row } from '../measurement.ts';
import { summary } from '../statistics.ts';

const COUNT = Number(process.env['BENCH_COUNT'] ?? 60);
const WARM_UP = 5;
const MB = 1_000_000;

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

const readBy = ({ json }: Answer): number => (json.metadata?.io_usage ?? 0) / MB;

export const compared: Measurement = {
  name: 'compare',
  title: 'two versions of ffprobe in one request, beside the slower one alone; near origin',
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const url = `${origin.url}/tiny.mp4`;
      const { token } = await c.newToken();
      const versions = await versionsOf(c);
      const both: Answer[] = [];
      const alone = new Map<string, Answer[]>(versions.map((version) => [version, []]));
      await paced(COUNT, WARM_UP, async (index) => {
        const together = expectOk(await c.probe({ url, ffprobe: { versions } }, { token, path: '/v1/compare' }));
        const singles = [];
        for (const version of versions)
          singles.push(expectOk(await c.probe({ url, only: 'ffprobe', ffprobe: { version } }, { token })));
        if (index < 0) return;
        both.push(together);
        for (const [at, version] of versions.entries()) alone.get(version)!.push(singles[at]!);
      });
      const times = versions.map((version) => summary(alone.get(version)!.map(({ ms }) => ms)));
      const slower = times[0]!.p50 > times[1]!.p50 ? 0 : 1;
      const { summary: changes } = both.at(-1)!.json as unknown as Comparison;
      report(`${versions.join(' and ')}: ${changes.fields} fields change, ${changes.known} of them known`);
      return [
        {
          name: 'compare-whole',
          what: `whole request, ffprobe ${versions.join(' and ')}`,
          unit: 'ms',
          values: summary(both.map(({ ms }) => ms)),
          against: { what: `ffprobe ${versions[slower]} alone`, values: times[slower]! },
        },
        {
          name: 'compare-bytes',
          what: 'bytes read from the origin',
          unit: 'MB',
          values: summary(both.map(readBy)),
          against: {
            what: `ffprobe ${versions[slower]} alone`,
            values: summary(alone.get(versions[slower]!)!.map(readBy)),
          },
        },
      ] satisfies Row[];
    }),
};
