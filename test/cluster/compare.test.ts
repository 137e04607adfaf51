import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { byNewest } from '../../src/base/version_order.ts';
import { serveContent } from '../node/origin.ts';
import { cluster, NAMESPACE, type Cluster } from './fixture.ts';

interface Compared {
  success: boolean;
  error?: string;
  code?: string;
  metadata: { request_id: string; io_usage: number };
  runs: {
    run: string;
    tool: string;
    version: string;
    build: string | null;
    success: boolean;
    error?: string;
    usage: number;
  }[];
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
    const origin = await c.origin();
    const url = `${origin.url}/tiny.mp4`;
    const answer = await c.probe({ url, ffprobe: { versions: chosen } }, { path: '/v1/compare' });
    assert.equal(answer.status, 200, answer.text);
    const { success, metadata, runs, fields, summary } = answer.json as unknown as Compared;
    assert.ok(success, answer.text);
    assert.deepEqual(
      runs.map(({ version, success: done, error }) => [version, done, error]),
      chosen.map((version) => [version, true, undefined]),
    );
    for (const { build, usage } of runs) assert.ok(build !== null && usage > 0, JSON.stringify(runs));
    assert.ok(fields.length > 0 && summary.told === fields.length, 'no two versions of ffprobe say the same');
    // A host that took long to connect is far: the end is asked for before the size is known. A busy machine is far.
    const early = origin.requests.filter(({ range }) => range?.startsWith('bytes=-')).length;
    assert.ok(early <= 1, JSON.stringify(origin.requests));
    const size = Number((await fetch(url)).headers.get('content-length'));
    const most = size * (1 + early) * 1.1;
    assert.ok(metadata.io_usage <= most, `${metadata.io_usage} bytes of ${size}: ${JSON.stringify(origin.requests)}`);

    const back = await c.get(`/v1/probe/${metadata.request_id}`);
    assert.deepEqual(back.json, answer.json);
    const { error, ...report } = (await c.probe({ request_ids: [metadata.request_id] }, { path: '/v1/compare/report' }))
      .json as unknown as { error?: string; fields: unknown[]; summary: { comparisons: number } };
    assert.equal(error, undefined);
    assert.equal(report.summary.comparisons, 1);
  });

  describe('two files', () => {
    const SECRET = 'password-of-the-second';
    let files: string;
    before(async () => {
      const tiny = await readFile(join(import.meta.dirname, '../fixtures/tiny.mp4'));
      // Half as many ticks in a second of the first track: it lasts twice as long.
      const longer = Buffer.from(tiny);
      const timescale = longer.indexOf('mdhd') + 16;
      longer.writeUInt32BE(longer.readUInt32BE(timescale) / 2, timescale);
      const contents = new Map([
        ['/tiny.mp4', tiny],
        ['/longer.mp4', longer],
      ]);
      const origin = await c.origin((request, response) => {
        const content = contents.get(request.url!.split('?')[0]!);
        if (content) serveContent(content, request, response, { 'content-type': 'video/mp4' });
        else response.writeHead(404).end();
      });
      files = origin.url;
    });
    const compared = async (a: string, b: string, more: object = {}) => {
      const answer = await c.probe({ urls: [a, b], ...more }, { path: '/v1/compare' });
      return { ...answer, json: answer.json as unknown as Compared };
    };
    const outcomes = ({ runs }: Compared) => runs.map(({ run, tool, success }) => `${run} ${tool} ${success}`);
    const ALL = ['a ffprobe true', 'a mediainfo true', 'b ffprobe true', 'b mediainfo true'];

    it('that differ are told apart at both levels, and the result can be read back', async () => {
      const { status, json, text } = await compared(`${files}/tiny.mp4`, `${files}/longer.mp4`);
      assert.equal(status, 200, text);
      assert.deepEqual(outcomes(json), ALL, text);
      assert.ok(json.success, text);
      for (const wanted of ['canonical', 'raw'])
        assert.ok(
          json.fields.some(({ level, values }) => level === wanted && Object.keys(values).join() === 'a,b'),
          `${wanted}: ${text}`,
        );
      assert.deepEqual((await c.get(`/v1/probe/${json.metadata.request_id}`)).json, json);
    });

    it('that are the same file do not differ in any field', async () => {
      const { json, text } = await compared(`${files}/tiny.mp4`, `${files}/tiny.mp4`);
      assert.deepEqual([outcomes(json), json.fields, json.summary.fields], [ALL, [], 0], text);
    });

    it('of which one is missing: the other is kept, the error names the side, kubectl shows both', async () => {
      const missing = `${files.replace('http://', `http://user:${SECRET}@`)}/none.mp4`;
      const { status, json, text } = await compared(`${files}/tiny.mp4`, missing, { ffprobe: {} });
      assert.equal(status, 200, text);
      assert.deepEqual([outcomes(json), json.success], [['a ffprobe true', 'b ffprobe false'], false]);
      assert.deepEqual([json.error, json.code], ['b: the host answered 404', 'http-404']);
      const name = json.metadata.request_id;
      await c.kubectl('-n', NAMESPACE, 'wait', `pj/${name}`, '--for=condition=Succeeded', '--timeout=60s');
      const { spec, status: ended } = await c.kube.get(PROBE_JOBS, name, { namespace: NAMESPACE });
      assert.match(spec.source.display ?? '', /^http:.*\/tiny\.mp4 and http:.*\/none\.mp4$/);
      assert.match(ended?.summary ?? '', /^a: ffprobe \S+: ok in \d+ ms; b: ffprobe \S+: /);
      assert.deepEqual(
        ended?.tools?.map(({ name: tool, success }) => [tool, success]),
        [['ffprobe', false]],
      );
      const shown = await c.kubectl('-n', NAMESPACE, 'describe', 'pj', name);
      assert.ok(!shown.includes(SECRET) && !text.includes(SECRET));
    });

    it('of which both are missing: 404', async () => {
      const { status, json } = await compared(`${files}/none.mp4`, `${files}/nothing.mp4`);
      const error = 'a: the host answered 404; b: the host answered 404';
      assert.deepEqual([status, json.error, json.code], [404, error, 'http-404']);
    });
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
