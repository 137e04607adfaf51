/** Batches that tag their objects: which they are, what a runner is told, and what is counted. */
import assert from 'node:assert/strict';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { openSealed } from '../../../src/platform/seal/seal.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';
import { batchesOf, ONLY, type BatchAnswer } from './fixture.ts';

type Tagging = BatchAnswer & { tagged: Record<string, number> | null };

describe('batch with tag_objects', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  before(async () => {
    api = await startApi();
    batches = batchesOf(api);
  });
  after(() => api.stop());

  const probe = { ...ONLY, credential: 'films' };
  const sealedOf = ({ metadata: { name }, spec }: ProbeJob) =>
    JSON.parse(
      openSealed(spec.source.sealed!, { requestId: name, tokenId: spec.token!.id }, api.privateKeys),
    ) as object;
  const ran = { name: 'ffprobe', version: '7.0', success: true, durationMs: 1, usageMs: 1 } as const;
  const endWith = (name: string, tagged: string) =>
    api.end(name, {
      result: { tools: [tool('ffprobe', '{}')], ioUsage: 10 },
      asked: [{ name: 'ffprobe' }],
      close: { tools: [{ ...ran, tagged }] },
    });

  it('seals the request of each item with its address, and counts what became of the tags', async () => {
    const items = ['s3://films/a.mp4', 's3://films/b.mp4', 's3://films/c.mp4'];
    const { id } = await batches.create({ items, probe, tag_objects: true });
    const sealed: object[] = [];
    await batches.run(id, 'films', async (job) => {
      const { name } = job.metadata;
      sealed.push(sealedOf(job));
      assert.deepEqual(job.spec.items, undefined);
      await endWith(name, sealed.length === 1 ? 'http-403' : 'written');
    });
    const shown = await batches.items(id);
    assert.deepEqual(
      sealed.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
      items.map((address, n) => ({ address, credential: 'films', tag: { request: shown[n]!.request_id } })),
    );
    const { tagged, counts, errors } = (await batches.read(id)) as Tagging;
    assert.deepEqual([tagged, counts['success'], errors], [{ written: 2, 'http-403': 1 }, 3, []]);
  });

  it('tells the runner of a listing, and of other batches, nothing', async () => {
    const listing = await batches.create({ bucket: { url: 's3://listed' }, probe, tag_objects: true });
    assert.deepEqual(Object.keys(sealedOf(await api.job('listed'))), ['address', 'credential', 'listing']);
    assert.deepEqual((listing as Tagging).tagged, {});
    await batches.act(listing.id, 'cancel');
    const other = await batches.create({ items: ['s3://plain/a.mp4'], probe });
    assert.deepEqual(Object.keys(sealedOf(await api.job('plain'))), ['address', 'credential']);
    assert.deepEqual((other as Tagging).tagged, null);
  });

  const alone =
    'url: must be an s3:// address without a query for tag_objects, with keys or with `credential` of the template';
  for (const [what, fields, place] of [
    ['https', { items: ['s3://films/a.mp4', 'https://films.test/a.mp4'], probe: ONLY }, 'items.0'],
    ['gs', { items: ['gs://films/a.mp4'], probe }, 'items.0'],
    ['az', { items: ['az://account/films/a.mp4'], probe }, 'items.0'],
    ['a bucket of gs', { bucket: { url: 'gs://films' }, probe }, 'bucket'],
    ['a public bucket', { bucket: { url: 's3://films' }, probe: ONLY }, 'bucket'],
    ['a query', { items: ['s3://KEY:SECRET@films/a.mp4?versionId=1'], probe: ONLY }, 'items.0'],
  ] as const)
    it(`is refused: ${what}`, async () => {
      const response = await batches.post({ ...fields, tag_objects: true });
      const { error } = (await response.json()) as { error: string };
      assert.deepEqual([response.status, error.split('; ')[0]], [400, `${place}.${alone}`]);
      assert.ok(!error.includes('SECRET'));
    });
});
