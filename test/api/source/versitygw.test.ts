/**
 * A real S3 server reports what is put into it, while two replicas of the API are killed and started again: each
 * version is probed once, and none is lost.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { encodeKey } from '../../../src/source/address/s3.ts';
import { parseSource } from '../../../src/source/address/parse.ts';
import { signS3 } from '../../../src/source/http/sign.ts';
import { ANYTHING, type Listing } from '../../../src/source/listing/listing.ts';
import { versionOf } from '../../../src/source/listing/object_version.ts';
import { withCredential } from '../../../src/source/named_credential.ts';
import { startProxy } from '../../../src/source/proxy.ts';
import { targetOf } from '../../../src/source/address/target.ts';
import { ADMIN } from '../../store/fixture.ts';
import { inFull } from '../../long.ts';
import { missingPeer, type Peer, startS3 } from '../../streams/peers.ts';
import { until } from '../../until.ts';
import { requestsOf } from '../batch/fixture.ts';
import { closingOf, createTool, tool } from '../fixture.ts';
import { MAIN, startRoleServers, type RoleServers } from '../role_process.ts';

const KEYS = { accessKey: 'archive-key', secretKey: 'a/secret+with=signs' };
const REGION = 'us-east-1';
const OBJECTS = inFull() ? 8_000 : 1_600;
const OVERWRITTEN = OBJECTS / 4;
const PUTS = OBJECTS + OVERWRITTEN;
const AT_ONCE = 8;
/** PUTs between two kills. */
const AGAIN_AFTER = PUTS / 4;
/** PUTs when the replicas are back. Events are not sent again, so those of the others may be lost. */
const LAST = PUTS / 20;

class Replica {
  readonly #env: NodeJS.ProcessEnv;
  readonly url: string;
  #child: ChildProcess | undefined;
  constructor({ env, url }: { env: NodeJS.ProcessEnv; url: string }) {
    [this.#env, this.url] = [env, url];
  }
  async start(): Promise<void> {
    this.#child = spawn(process.execPath, [MAIN, 'api'], { stdio: ['ignore', 'ignore', 'inherit'], env: this.#env });
    await until(
      'the replica is ready',
      () =>
        fetch(`${this.url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      60_000,
    );
  }
  async kill(): Promise<void> {
    if (!this.#child) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    this.#child = undefined;
    await closed;
  }
}

describe('source: a real S3 server', function () {
  this.timeout(600_000);
  let servers: RoleServers;
  let folder: string;
  let s3: Peer | undefined;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  const replicas: Replica[] = [];
  const over = new AbortController();
  let ends = Promise.resolve();
  before(async function () {
    if ((await missingPeer('versitygw')) !== undefined) return this.skip();
    servers = await startRoleServers();
    await createTool(servers, 'ffprobe', '7.0', { latest: true, options: [] });
    await servers.stored.sql('update users set requests_per_minute = 1000000, concurrency = 100');
    folder = join(servers.folder, 's3');
    mkdirSync(join(folder, 'films'), { recursive: true });
    for (let n = 0; n < 2; n++) replicas.push(new Replica(await servers.settings()));
    await Promise.all(replicas.map((one) => one.start()));
  });
  after(async () => {
    over.abort();
    await ends;
    await Promise.all(replicas.map((one) => one.kill()));
    await proxy?.close();
    await s3?.close();
    await servers?.stop();
  });

  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${replicas[0]!.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${ADMIN.token}`, 'Content-Type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    assert.ok(response.ok, `${response.status} ${response.ok ? '' : await response.text()}`);
    return response.json();
  };

  async function put(name: string, content: string): Promise<void> {
    const url = `http://127.0.0.1:${s3!.port}/films/${encodeKey(name)}`;
    const bodySha256 = createHash('sha256').update(content).digest('hex');
    const headers = signS3(targetOf(url), { ...KEYS, secret: KEYS.secretKey }, REGION, new Date(), {
      method: 'PUT',
      bodySha256,
    });
    const response = await fetch(url, { method: 'PUT', body: content, headers });
    assert.equal(response.status, 200, await response.text());
  }

  const listed = async (job: ProbeJob) => {
    const [row] = await servers.stored.sql<{ listing: { cursor: string | null; filter: object } }>(
      `select b.listing from batches b join batch_items i on i.batch_id = b.id where i.request_id = $1`,
      [job.metadata.name],
    );
    const { cursor, filter } = row!.listing;
    const named = { name: 'x', kind: 's3', accounts: ['*' as const], buckets: ['films'], region: REGION } as const;
    const source = withCredential(parseSource(`s3://films/${ANYTHING}`), named, KEYS)!;
    const opened = proxy.open({ source, limits: { maxBytes: 1 << 30 } });
    try {
      const listing = { ...filter, cursor, versions: true } as Listing;
      return await opened.list('ffprobe', listing, AbortSignal.timeout(30_000));
    } finally {
      opened.close();
    }
  };

  /** Ends what has a job, as a controller does. */
  async function endJobs(): Promise<void> {
    const { items } = await servers.kube.listAll(PROBE_JOBS, { namespace: servers.namespace });
    for (const job of items) {
      const isListing = job.spec.source.display?.endsWith(ANYTHING) === true;
      const result = isListing
        ? {
            tools: [],
            skipped: ['ffprobe' as const],
            ioUsage: 5,
            listing: { output: JSON.stringify(await listed(job)) },
          }
        : { tools: [tool('ffprobe', '{}')], ioUsage: 1 };
      await Promise.all(requestsOf(job).map((id) => servers.stored.store.closeRequest(closingOf(id, { result }))));
      await servers.kube.delete(PROBE_JOBS, job.metadata.name, { namespace: servers.namespace });
    }
    await endLost();
  }

  /** A replica that is killed after it has opened a request makes no job for it: the leader ends such requests. */
  async function endLost(): Promise<void> {
    const lost = await servers.stored.sql<{ id: string }>(
      `select id from requests where state = 'open' and submitted_at < now() - interval '15 seconds'`,
    );
    for (const { id } of lost)
      await servers.stored.store.closeRequest(closingOf(id, { close: { reason: 'Cancelled', status: 500 } }));
  }

  it(`probes each version of ${PUTS} PUTs once, whatever is killed`, async () => {
    const { id, events_key: key } = (await call('POST', '/v1/source', {
      probe: { only: 'ffprobe' },
      bucket: { url: 's3://films/' },
      per_host: 8,
      concurrency: 50,
      settle: 1,
      bundle: 1,
    })) as { id: string; events_key: string };
    const events = `${replicas[0]!.url}/v1/source/${id}/events?key=${key}`;
    s3 = await startS3(folder, KEYS.accessKey, KEYS.secretKey, REGION, { events });
    proxy = await startProxy({
      allow: [{ cidr: '127.0.0.1/32' }],
      s3: { endpoint: `http://127.0.0.1:${s3.port}`, region: REGION },
    });
    const content = new Map<string, string>();
    let puts = 0;
    ends = (async () => {
      while (!over.signal.aborted) await endJobs();
    })();
    const nameOf = (n: number): string => `in/${n % 7}/ü +${n}.mp4`;
    let restarted = Promise.resolve();
    const worker = async (most: number) => {
      while (puts < most) {
        const n = puts++;
        const name = nameOf(n % OBJECTS);
        content.set(name, `content ${n}`);
        await put(name, `content ${n}`);
        if (n > 0 && n % AGAIN_AFTER === 0) {
          const one = replicas[(n / AGAIN_AFTER) % 2]!;
          restarted = restarted.then(async () => {
            await one.kill();
            await one.start();
          });
        }
      }
    };
    const began = performance.now();
    const putUntil = (most: number) => Promise.all(Array.from({ length: AT_ONCE }, () => worker(most)));
    const noted = async (): Promise<number> =>
      ((await call('GET', `/v1/source/${id}`)) as { events: { noted: number } }).events.noted;
    await putUntil(PUTS - LAST);
    await restarted;
    const notedBefore = await noted();
    await putUntil(PUTS);
    console.log(`        ${PUTS} PUTs in ${Math.round((performance.now() - began) / 1_000)} s`);
    await until('the last events are noted', async () => (await noted()) > notedBefore + LAST / 2, 30_000);
    const byEvents = await noted();
    await call('POST', `/v1/source/${id}/list`);
    const { sql } = servers.stored;
    await until(
      'all is probed',
      async () => {
        const [row] = await sql<{ open: string; due: string; listed: boolean; probed: string }>(
          `select
            (select count(*) from batches where source_id = $1 and (state <> 'ended' or listing is not null)) open,
            (select count(*) from source_objects where source_id = $1 and due_at is not null) due,
            (select count(*) from source_objects where source_id = $1) probed,
            (select last_listing is not null and list_at > now() from sources where id = $1) listed`,
          [id],
        );
        return row!.open === '0' && row!.due === '0' && row!.listed && Number(row!.probed) === OBJECTS;
      },
      300_000,
    );
    over.abort();
    await ends;
    console.log(`        all probed after ${Math.round((performance.now() - began) / 1_000)} s, ${byEvents} by events`);
    const objects = await sql<{ name: string; version: Buffer; taken: Buffer; items: string; ended: string }>(
      `select min(i.ref) as name, o.version, o.taken, count(i.n) items,
          count(i.n) filter (where i.state = 'success') ended
        from source_objects o left join (batch_items i join batches b on b.id = i.batch_id and b.source_id = $1)
          on substr(sha256(convert_to(i.ref, 'UTF8')), 1, 16) = o.hash
        where o.source_id = $1 group by o.hash, o.version, o.taken`,
      [id],
    );
    for (const { name, version, taken: probed, items, ended } of objects) {
      const etag = createHash('md5').update(content.get(name)!).digest('hex');
      const expected = versionOf({ etag, bytes: 0, modified: 0 });
      assert.equal(version.toString('base64url'), expected, name);
      assert.equal(probed.toString('base64url'), expected, name);
      const n = Number(/\+(\d+)\.mp4$/.exec(name)![1]);
      const most = n < OVERWRITTEN ? 2 : 1;
      assert.ok(Number(items) >= 1 && Number(items) <= most, `${name} has ${items} items`);
      assert.equal(ended, items, name);
    }
  });
});
