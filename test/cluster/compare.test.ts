import assert from 'node:assert/strict';
import { PROBE_JOBS } from '../../src/kube/client.ts';
import { byNewest } from '../../src/version_order.ts';
import { cluster, NAMESPACE, type Cluster } from './fixture.ts';

interface Compared {
  success: boolean;
  error?: string;
  metadata: { request_id: string; io_usage: number };
  runs: { tool: string; version: string; build: string | null; success: boolean; error?: string; usage: number }[];
  fields: { path: string; level: string; change: string; values: Record<string, unknown> }[];
  summary: { fields: number; told: number };
}

describe('comparison of versions on the cluster', function () {
  this.timeout(120_000);
  let c: Cluster;
  let source: string;
  let versions: string[];

  before(async () => {
    c = await cluster();
    source = `${(await c.origin()).url}/tiny.mp4`;
    const refused = await c.probe({ url: source, ffprobe: { versions: ['none', 'latest'] } }, { path: '/v1/compare' });
    versions =
      /available: latest, (.+)$/
        .exec(refused.json.error ?? '')?.[1]
        ?.split(', ')
        .sort(byNewest) ?? [];
    assert.ok(versions.length >= 2, refused.text);
  });
  after(() => c.close());

  it('runs every version in one job, reads the origin once, and reports the changes', async () => {
    const chosen = versions.slice(0, 4).toReversed();
    const alone = await c.probe({ url: source, only: 'ffprobe', ffprobe: { version: chosen[0] } });
    const answer = await c.probe({ url: source, ffprobe: { versions: chosen } }, { path: '/v1/compare' });
    assert.equal(answer.status, 200, answer.text);
    const { success, metadata, runs, fields, summary } = answer.json as unknown as Compared;
    assert.ok(success, answer.text);
    assert.deepEqual(
      runs.map(({ version, success: done, error }) => [version, done, error]),
      chosen.map((version) => [version, true, undefined]),
    );
    for (const { build, usage } of runs) assert.ok(build !== null && usage > 0, JSON.stringify(runs));
    assert.ok(fields.length > 0 && summary.told === fields.length, 'no two versions of ffprobe say the same');
    assert.ok(metadata.io_usage <= alone.json.metadata!.io_usage * 1.1, `${metadata.io_usage} bytes of the origin`);

    const back = await c.get(`/v1/probe/${metadata.request_id}`);
    assert.deepEqual(back.json, answer.json);
    const { error, ...report } = (await c.probe({ request_ids: [metadata.request_id] }, { path: '/v1/compare/report' }))
      .json as unknown as { error?: string; fields: unknown[]; summary: { comparisons: number } };
    assert.equal(error, undefined);
    assert.equal(report.summary.comparisons, 1);
  });

  it('shows both versions in kubectl, and refuses them in a job of another kind', async () => {
    const [newest, older] = versions as [string, string];
    const name = `compare-${Date.now()}`;
    const tools = [
      { name: 'ffprobe' as const, version: older },
      { name: 'ffprobe' as const, version: newest },
    ];
    const make = (kind: 'file' | 'compare') =>
      c.kube.create(
        PROBE_JOBS,
        {
          metadata: { name, namespace: NAMESPACE },
          spec: { kind, source: { url: source }, tools },
        },
        { namespace: NAMESPACE },
      );
    await assert.rejects(make('file'), /two versions of one tool are only possible with the kind compare/);
    await make('compare');
    await c.kubectl('-n', NAMESPACE, 'wait', `pj/${name}`, '--for=condition=Succeeded', '--timeout=60s');
    const { status } = await c.kube.get(PROBE_JOBS, name, { namespace: NAMESPACE });
    assert.deepEqual(
      status?.tools?.map(({ version, success }) => [version, success]),
      [
        [older, true],
        [newest, true],
      ],
    );
    const line = await c.kubectl('-n', NAMESPACE, 'get', 'pj', name, '-o', 'wide');
    assert.match(
      line,
      new RegExp(`compare .*Completed.*ffprobe ${older}: ok in \\d+ ms; ffprobe ${newest}: ok in`, 's'),
    );
    await c.kube.delete(PROBE_JOBS, name, { namespace: NAMESPACE });
  });
});
