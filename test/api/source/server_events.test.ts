/** Events of buckets by NATS: of which sources they note versions, and what a bad message or server does. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bus, connectBus } from '../../../src/platform/bus/connect.ts';
import { signS3 } from '../../../src/source/http/sign.ts';
import { targetOf } from '../../../src/source/address/target.ts';
import { missingPeer, startS3 } from '../../streams/peers.ts';
import { type NatsServer, startNats } from '../../servers.ts';
import { until } from '../../until.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { pageOf, type SourceAnswer, sourcesOf } from './fixture.ts';

const SUBJECT = 'buckets.events';
const USER = { user: 'probe', password: 'a-secret' };
const CONF = `authorization { users = [
  { user: "${USER.user}", password: "${USER.password}" },
  { user: "mute", password: "${USER.password}", permissions: { subscribe: { deny: ">" } } } ] }`;

describe('events of an events server', function () {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-events-'));
  let server: NatsServer;
  let api: ApiFixture;
  let sources: ReturnType<typeof sourcesOf>;
  let bucket: Bus;
  const secret = (user: string): void => {
    writeFileSync(join(folder, 'user'), `${user}\n`);
    writeFileSync(join(folder, 'password'), USER.password);
  };
  const metric = async (line: string): Promise<number> => {
    const text = await api.wired.deps.metrics.registry.metrics();
    return Number(
      text
        .split('\n')
        .find((one) => one.startsWith(`probeyard_api_events_${line} `))
        ?.split(' ')[1] ?? 0,
    );
  };
  const counted = (outcome: string): Promise<number> => metric(`messages_total{outcome="${outcome}"}`);
  const isUp = async (): Promise<boolean> => (await metric('server_up')) === 1;
  const logged = (text: string): number => api.log.filter((line) => line.includes(text)).length;
  const warned = (): number => logged('not connected to the events server');

  before(async () => {
    secret(USER.user);
    server = await startNats({ conf: CONF });
    await server.kill();
    api = await startApi({ eventsServer: { url: server.url, subject: SUBJECT, folder, name: 'api/test' } });
    sources = sourcesOf(api);
  });
  after(async () => {
    await bucket?.connection.close();
    await api?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const record = (name: string, key: string) => ({
    eventName: 's3:ObjectCreated:Put',
    s3: { bucket: { name }, object: { key, size: 7, eTag: '1' } },
  });
  const send = (...Records: object[]): void => bucket.publish(SUBJECT, { Records });
  /** Of a bucket that was listed. `page`: a status is a failure of the listing. */
  async function listed(url: string, { token = api.token, page = 0, ...fields } = {}): Promise<SourceAnswer> {
    const source = await sources.create({ bucket: { url }, every: null, bundle: 86_400, ...fields }, token);
    await sources.run(
      url.split('/')[2]!,
      () => page || pageOf(new Map()),
      async () => (await api.stored.store.readSource(source.id))!.lastListing !== null,
    );
    return source;
  }
  const namesOf = async ({ id }: SourceAnswer): Promise<string[]> =>
    (
      await api.stored.sql<{ name: string }>('select name from source_objects where source_id = $1 order by name', [id])
    ).map(({ name }) => name);

  it('are awaited from a server that comes after the replica, and that is refused meanwhile', async () => {
    await until('the failure is logged', () => warned() === 1);
    assert.equal(await isUp(), false);
    assert.equal((await fetch(`${api.url}/readyz`)).status, 200);
    secret('mute');
    await server.restart();
    await until('the refusal is logged', () => warned() === 2, 30_000);
    assert.equal(await isUp(), false);
    secret(USER.user);
    await until('it is connected', isUp, 60_000);
    assert.equal(logged(USER.password), 0);
    writeFileSync(join(folder, 'sender'), `${USER.user}:${USER.password}`);
    bucket = await connectBus({
      url: server.url,
      credentialsFile: join(folder, 'sender'),
      name: 'bucket',
      inboxPrefix: '_INBOX_bucket',
    });
  });

  it('note versions for the sources of all accounts with that bucket, and for no other', async () => {
    const { token } = await sources.batches.account('second');
    const first = await listed('s3://films/in/');
    const second = await listed('s3://films', { token });
    const paused = await listed('s3://films/');
    await sources.act(paused.id, 'pause');
    const others = [
      await listed('s3://series/'),
      await listed('gs://films/', { token }),
      await listed('s3://films/', { token, page: 403 }),
    ];
    send(record('films', 'in/a.mp4'), record('films', 'out/b+c.mp4'), record('nowhere', 'in/d.mp4'));
    await until('the message is counted', async () => (await counted('noted')) === 1);
    assert.deepEqual(await Promise.all([first, second, paused].map(namesOf)), [
      ['in/a.mp4'],
      ['in/a.mp4', 'out/b c.mp4'],
      ['in/a.mp4', 'out/b c.mp4'],
    ]);
    assert.deepEqual((await Promise.all(others.map(namesOf))).flat(), []);
    const [row] = await api.stored.sql<{ noted: string; ignored: string }>(
      'select events_noted noted, events_ignored ignored from sources where id = $1',
      [first.id],
    );
    assert.deepEqual(row, { noted: '1', ignored: '0' });
  });

  it('harm nothing if they are invalid', async () => {
    const source = await listed('s3://odd/');
    const before = await counted('invalid');
    bucket.connection.publish(SUBJECT, '{');
    bucket.connection.publish(SUBJECT, new Uint8Array([0xff]));
    bucket.publish(SUBJECT, []);
    bucket.publish(SUBJECT, { Records: Array.from({ length: 101 }, () => 1) });
    bucket.connection.publish(SUBJECT, JSON.stringify({ x: 'x'.repeat(256 * 1024) }));
    bucket.publish(SUBJECT, { Event: 's3:TestEvent' });
    send(1 as unknown as object, record('odd\0', 'a.mp4'));
    send(record('odd', 'a.mp4'));
    await until('the last one is noted', async () => (await namesOf(source)).length === 1);
    assert.deepEqual([await counted('invalid'), await counted('failed')], [before + 5, 0]);
  });

  it('are dropped beyond 1,000 that wait, the oldest first', async () => {
    const source = await listed('s3://many/');
    const before = await counted('noted');
    for (let n = 0; n < 5_000; n++) send(record('many', `${n}.mp4`));
    await bucket.flush();
    await until(
      'all are counted',
      async () => (await counted('dropped')) + (await counted('noted')) - before === 5_000,
      60_000,
    );
    assert.ok((await counted('dropped')) > 0);
    assert.ok((await namesOf(source)).includes('4999.mp4'));
  });

  it('are taken again after the server was away', async () => {
    const source = await listed('s3://again/');
    await server.kill();
    await until('the loss is known', async () => !(await isUp()));
    await server.restart();
    await until('it is connected', isUp, 60_000);
    await bucket.whenConnected(30_000);
    send(record('again', 'a.mp4'));
    await until('it is noted', async () => (await namesOf(source)).length === 1);
  });

  it('are those that versitygw sends', async function () {
    if ((await missingPeer('versitygw')) !== undefined) return this.skip();
    const source = await listed('s3://gateway/');
    const root = join(folder, 's3');
    mkdirSync(join(root, 'gateway'), { recursive: true });
    const keys = { accessKey: 'key', secretKey: 'secret-key' };
    const nats = server.url.replace('://', `://${USER.user}:${USER.password}@`);
    const s3 = await startS3(root, keys.accessKey, keys.secretKey, 'us-east-1', { events: { nats, subject: SUBJECT } });
    try {
      const url = `http://127.0.0.1:${s3.port}/gateway/a.mp4`;
      const headers = signS3(targetOf(url), { ...keys, secret: keys.secretKey }, 'us-east-1', new Date(), {
        method: 'PUT',
        bodySha256: '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881',
      });
      assert.equal((await fetch(url, { method: 'PUT', body: 'x', headers })).status, 200);
      await until('it is noted', async () => (await namesOf(source)).length === 1, 30_000);
    } finally {
      await s3.close();
    }
  });
});
