/** A real agent lists a real bucket in place of running its tools. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { readSealed, resolveCredentials } from '../../src/service/controller/leader/resolve_job.ts';
import type { Listed } from '../../src/source/listing/listing.ts';
import { noCredentials } from '../controller/no_credentials.ts';
import { headOf } from '../result/text_body.ts';
import { missingPeer, type Peer, startS3 } from '../streams/peers.ts';
import { Rig } from './agent_rig.ts';

const KEYS = { accessKey: 'archive-key', secretKey: 'a/secret+with=signs' };

describe('a listing in an agent', function () {
  this.timeout(90_000);
  const rig = new Rig();
  const folder = mkdtempSync(join(tmpdir(), 'listing-'));
  let server: Peer | undefined;
  before(async function () {
    if ((await missingPeer('versitygw')) !== undefined) return this.skip();
    mkdirSync(join(folder, 's3/films/2026'), { recursive: true });
    for (const name of ['a.mp4', 'b.txt', 'c.mp4']) writeFileSync(join(folder, 's3/films/2026', name), 'x');
    mkdirSync(join(folder, 'keys/films'), { recursive: true });
    for (const [name, value] of Object.entries(KEYS)) writeFileSync(join(folder, 'keys/films', name), value);
    server = await startS3(join(folder, 's3'), KEYS.accessKey, KEYS.secretKey, 'us-east-1');
    rig.proxyOptions = { ...rig.proxyOptions, s3: { endpoint: `http://127.0.0.1:${server.port}` } };
    await rig.start();
    await rig.newAgent();
  });
  after(async () => {
    await rig.stop();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** As the API seals it, and the leader opens it. */
  const run = async (address: string) => {
    const listing = { include: ['*.mp4'], exclude: [], minBytes: null, maxBytes: null, modifiedAfter: null };
    const sealed = readSealed(
      JSON.stringify({ address, credential: 'films', listing: { ...listing, modifiedBefore: null, cursor: null } }),
      [],
    );
    const named = {
      ...noCredentials,
      folder: join(folder, 'keys'),
      credentials: [{ name: 'films', kind: 's3' as const, accounts: ['*' as const], buckets: ['films', 'none'] }],
    };
    const [source] = await resolveCredentials(named, [sealed], 1);
    const order = rig.go([rig.script('echo ran')], { source });
    await rig.prepare(order);
    const { body } = await rig.run(order);
    return { body, end: outcome(headOf(body), [{ name: 'ffprobe', version: '7.1' }]) };
  };

  it('gives the names that are wanted, and runs no tool', async () => {
    const { body, end } = await run('s3://films/2026/...');
    const listed = JSON.parse(body.listing!.output) as Listed;
    assert.deepEqual(listed, { names: ['2026/a.mp4', '2026/c.mp4'], found: 3, filtered: 1, unreadable: 0, next: null });
    assert.deepEqual([body.tools, body.skipped, end.state, end.status], [[], ['ffprobe'], 'success', 200]);
    assert.ok(body.ioUsage > 0);
  });

  it('ends with the code of a bucket that is not there', async () => {
    const { body, end } = await run('s3://none/...');
    assert.deepEqual([body.listing, body.tools[0]?.code, end.state, end.status], [undefined, 'http-404', 'error', 404]);
    assert.doesNotMatch(JSON.stringify(body), /secret\+with/);
  });
});
