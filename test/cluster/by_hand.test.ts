import assert from 'node:assert/strict';
import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NAMESPACE, cluster, eventually, jobOf, stateOf, type Cluster } from './fixture.ts';

describe('a ProbeJob created with kubectl', function () {
  this.timeout(120_000);
  let c: Cluster;
  let folder: string;
  before(async () => {
    c = await cluster();
    folder = await mkdtemp(join(tmpdir(), 'probeyard-'));
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
    await c.close();
  });

  const create = async (name: string, spec: object, kind = 'ProbeJob'): Promise<string> => {
    const file = join(folder, `${name}.json`);
    await writeFile(
      file,
      JSON.stringify({ apiVersion: 'probeyard.dev/v1alpha1', kind, metadata: { name, namespace: NAMESPACE }, spec }),
    );
    return c.kubectl('create', '-f', file);
  };
  const refused = (name: string, spec: object, message: RegExp) =>
    assert.rejects(create(name, spec), (error: Error & { stderr?: string }) => {
      assert.match(error.stderr ?? '', message);
      return true;
    });

  it('runs on the default token, and its result can be read by its uid', async () => {
    const origin = await c.origin();
    await create('by-hand', { source: { url: `${origin.url}/tiny.mp4` } });
    const job = await eventually('it ended', 60, async () => {
      const found = await jobOf(c.kube, 'by-hand');
      return found.status?.completedAt !== undefined && found;
    });
    assert.equal(stateOf(job), 'Completed', JSON.stringify(job.status));
    assert.equal(job.status?.resultPath, `/v1/probe/${job.metadata.uid}`);
    const { status, json } = await c.get(job.status?.resultPath ?? '');
    assert.equal(status, 200);
    assert.equal((json['ffprobe'] as { success: boolean }).success, true);
    await c.kubectl('-n', NAMESPACE, 'delete', 'pj', 'by-hand');
  });

  it('ends with the reason if it cannot run', async () => {
    await create('no-such-version', {
      source: { url: 'http://example.com/a.mp4' },
      tools: [{ name: 'ffprobe', version: '1.0' }],
    });
    const job = await eventually('it ended', 30, async () => {
      const found = await jobOf(c.kube, 'no-such-version');
      return found.status?.completedAt !== undefined && found;
    });
    assert.equal(stateOf(job), 'ToolUnavailable');
    assert.match(job.status?.summary ?? '', /available: .*9\.0/);
    await c.kubectl('-n', NAMESPACE, 'delete', 'pj', 'no-such-version');
  });

  it('is cancelled by deleting it before its end', async () => {
    const origin = await c.origin((_request, response) => void setTimeout(() => response.destroy(), 60_000).unref());
    await create('to-cancel', { source: { url: `${origin.url}/a.mp4` } });
    const job = await eventually('it runs', 60, async () => {
      const found = await jobOf(c.kube, 'to-cancel');
      return stateOf(found) === 'Running' && found;
    });
    await c.kubectl('-n', NAMESPACE, 'delete', 'pj', 'to-cancel');
    await eventually(
      'the record has its end',
      15,
      async () => (await c.sql(`select reason from requests where id = '${job.metadata.uid}'`)) === 'Cancelled',
    );
  });

  it('cannot name a token or have a sealed source, which only the API may', async () => {
    await refused('with-token', { source: { url: 'http://example.com/a' }, token: { id: 1, user: 1 } }, /token/);
    await refused('with-seal', { source: { sealed: 'x', display: 'y' } }, /sealed/);
  });

  it('is refused by the schema with a clear message if invalid', async () => {
    await refused('no-source', { source: {} }, /exactly one of url, secretRef and sealed/);
    await refused('two-sources', { source: { url: 'http://a/b', secretRef: { name: 'x' } } }, /exactly one of/);
    await refused('with-user', { source: { url: 'http://user:secret@example.com/a' } }, /user info, query or fragment/);
    await refused('with-query', { source: { url: 'http://example.com/a?token=1' } }, /user info, query or fragment/);
    await refused('bad-kind', { kind: 'other', source: { url: 'http://example.com/a' } }, /Unsupported value/);
    await refused('long-wait', { queueTimeoutMs: 600_001, source: { url: 'http://example.com/a' } }, /60000/);
  });

  it('cannot be changed afterwards', async () => {
    await create('fixed', {
      source: { url: 'http://example.com/a.mp4' },
      tools: [{ name: 'ffprobe', version: '1.0' }],
    });
    await assert.rejects(
      c.kubectl('-n', NAMESPACE, 'patch', 'pj', 'fixed', '--type=merge', '-p', '{"spec":{"timeoutMs":5}}'),
      (error: Error & { stderr?: string }) => {
        assert.match(error.stderr ?? '', /cannot be changed/);
        return true;
      },
    );
    await c.kubectl('-n', NAMESPACE, 'delete', 'pj', 'fixed');
  });
});
