/** A bucket on the cluster: each new version of an object is probed once, and tagged with the verdict. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Batch, Source } from '../../src/api_types.ts';
import { isKubeError, PROBE_SOURCES, SECRETS } from '../../src/platform/kube/client.ts';
import { targetOf } from '../../src/source/address/target.ts';
import { signS3 } from '../../src/source/http/sign.ts';
import { unlessLong } from '../long.ts';
import { type Peer, startS3 } from '../streams/peers.ts';
import { NAMESPACE, cluster, eventually, fixtures, type Cluster } from './fixture.ts';
import { openRelease, type Release } from './helm.ts';

const KEYS = { accessKey: 'archive-key', secret: 'a/secret+with=signs' };
const SECRET = 'bucket-keys';
const REGION = 'us-east-1';

describe('a bucket that reports itself', function () {
  this.timeout(420_000);
  const folder = mkdtempSync(join(tmpdir(), 'bucket-'));
  let c: Cluster;
  let release: Release | undefined;
  let store: Peer | undefined;
  let token: string;
  let objects = 0;

  async function s3(method: string, path: string, body = Buffer.alloc(0)): Promise<string> {
    const url = `http://${c.hostIp}:${store!.port}/${path}`;
    const bodySha256 = createHash('sha256').update(body).digest('hex');
    const headers = signS3(targetOf(url), KEYS, REGION, new Date(), { method, bodySha256 });
    const response = await fetch(url, { method, headers, ...(body.length > 0 ? { body: new Uint8Array(body) } : {}) });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text;
  }
  /** The box `free` changes nothing of what tools say. */
  const FREE = Buffer.from([0, 0, 0, 8, ...Buffer.from('free')]);
  const tiny = readFileSync(join(fixtures, 'tiny.mp4'));
  const put = (name: string, ...boxes: Buffer[]) => s3('PUT', `films/${name}`, Buffer.concat([tiny, ...boxes]));
  const post = async <T>(path: string, body: object = {}, expected = 202): Promise<T> => {
    const { status, json, text } = await c.probe(body, { token, path });
    assert.equal(status, expected, text);
    return json as unknown as T;
  };
  const doneOf = async (source: string): Promise<number> => {
    const { json } = await c.get(`/v1/batch?source=${source}`, token);
    return (json as unknown as { batches: Batch[] }).batches.reduce((sum, { counts }) => sum + counts.success, 0);
  };
  const probed = (source: string, count: number) =>
    eventually(`${count} objects are probed`, 90, async () => (await doneOf(source)) >= count);

  before(async function () {
    unlessLong(this);
    c = await cluster();
    mkdirSync(join(folder, 's3'));
    store = await startS3(join(folder, 's3'), KEYS.accessKey, KEYS.secret, REGION, { host: c.hostIp });
    await s3('PUT', 'films');
    await c.kube.create(SECRETS, {
      metadata: { name: SECRET, namespace: NAMESPACE },
      stringData: { accessKey: KEYS.accessKey, secretKey: KEYS.secret },
    } as never);
    release = await openRelease(c.kubeconfig);
    const one = 'sources.credentials[0]';
    await release.upgrade(
      `${one}.name=films`,
      `${one}.kind=s3`,
      `${one}.secret=${SECRET}`,
      `${one}.accounts[0]=*`,
      `${one}.buckets[0]=films`,
      `${one}.tags=true`,
      `sources.s3.endpoint=http://${c.hostIp}:${store.port}`,
    );
    ({ token } = await c.newToken());
  });
  after(async () => {
    await release?.upgrade();
    await release?.close();
    if (release) await c.kube.delete(SECRETS, SECRET, { namespace: NAMESPACE });
    await store?.close();
    await c?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is listed: each version is probed once, and its object has the verdict', async () => {
    for (const name of ['a.mp4', 'b.mp4', 'notes.txt']) await put(name);
    const body = {
      probe: { only: 'ffprobe', credential: 'films' },
      bucket: { url: 's3://films/', include: ['*.mp4'] },
      tag_objects: true,
      settle: 0,
      bundle: 1,
    };
    const { id } = await post<Source>('/v1/source', body, 201);
    await probed(id, 2);
    assert.match(await s3('GET', 'films/a.mp4?tagging'), /<Key>probeyard-verdict<\/Key><Value>pass<\/Value>/);
    await put('c.mp4');
    await post(`/v1/source/${id}/list`);
    await probed(id, 3);
    await put('a.mp4', FREE);
    const record = {
      eventName: 'ObjectCreated:Put',
      eventTime: new Date().toISOString(),
      s3: {
        bucket: { name: 'films' },
        object: {
          key: 'a.mp4',
          size: 1,
          eTag: /ETag>(?:&quot;|&#34;|")?(\w+)/.exec(await s3('GET', 'films?prefix=a'))?.[1],
        },
      },
    };
    for (let sent = 0; sent < 2; sent++)
      assert.equal((await post<{ noted: number }>(`/v1/source/${id}/events`, { Records: [record] }, 200)).noted, 1);
    await probed(id, 4);
    await post(`/v1/source/${id}/list`);
    await eventually('the listing has ended', 60, async () => {
      const { json } = await c.get(`/v1/source/${id}`, token);
      const { last_listing: last, next_listing_at: next } = json as unknown as Source;
      return last !== null && last.found === 4 && next !== null && Date.parse(next) > Date.now() && last;
    });
    objects = await doneOf(id);
    assert.equal(objects, 4, 'nothing was probed twice');
    const { status } = await fetch(`${c.url}/v1/source/${id}`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${token}` },
    });
    assert.equal(status, 202);
  });

  it('is asked for by an object, and forgotten with it', async () => {
    await c.kube.create(PROBE_SOURCES, {
      metadata: { name: 'films' },
      spec: {
        request: {
          name: 'by-object',
          probe: { only: 'ffprobe', credential: 'films' },
          bucket: { url: 's3://films/', include: ['*.mp4'] },
          settle: 0,
          bundle: 1,
        },
      },
    });
    const source = await eventually('the object has listed its bucket', 90, async () => {
      const { status } = await c.kube.get(PROBE_SOURCES, 'films');
      return status?.state === 'Running' && status.objects === 3 && status.lastListing !== undefined && status.id;
    });
    assert.match(await c.kubectl('-n', NAMESPACE, 'get', 'psrc'), /films +Running +s3:\/\/films\/ +3 /);
    await c.kube.delete(PROBE_SOURCES, 'films');
    await eventually('the source is gone', 90, async () => (await c.get(`/v1/source/${source}`)).status === 404);
    await eventually('the object is gone', 30, () =>
      c.kube.get(PROBE_SOURCES, 'films').then(
        () => false,
        (error: unknown) => isKubeError(error, 'not-found'),
      ),
    );
  });

  it('leaves its keys in no log and no resource', async () => {
    const said = [
      await c.kubectl('-n', NAMESPACE, 'logs', '-l', 'app.kubernetes.io/name=probeyard', '--tail=-1', '--prefix'),
      await c.kubectl('-n', NAMESPACE, 'get', 'pj,psrc,events', '-o', 'yaml'),
    ].join('\n');
    assert.ok(!said.includes(KEYS.secret));
  });
});
