/** Listings of Azure Storage and of Google Cloud Storage, as servers that were written after them answer. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { parseSource } from '../../src/source/address/parse.ts';
import { encodeKey } from '../../src/source/address/s3.ts';
import { originUrl } from '../../src/source/protocols/table.ts';
import { ANYTHING, listBucket, type Listing } from '../../src/source/listing/listing.ts';
import { withCredential } from '../../src/source/named_credential.ts';
import { fetched, npmInstall } from '../cli/fetched.ts';
import { freePort } from '../free_port.ts';
import { unlessLong } from '../long.ts';
import { until } from '../until.ts';

const ALL: Listing = {
  include: [],
  exclude: [],
  minBytes: null,
  maxBytes: null,
  modifiedAfter: null,
  modifiedBefore: null,
  cursor: null,
};
const AWKWARD = [
  'a b.mp4',
  'a#b?c.mp4',
  '100%.mp4',
  '%41.mp4',
  'ünï ☃ 🎬.mp4',
  'a+b&c=d.mp4',
  "q'(*)!.mp4",
  'x;y,z.mp4',
];

/** Without a path: of its host and, with Azure, of the account. */
const originOf = (url: string): string => /^https:\/\/[^/]+/.exec(url)![0];

/** `at`: the server in place of the origin. `asked`: addresses of its pages. */
async function list(source: ReturnType<typeof parseSource>, at: string, change: Partial<Listing> = {}) {
  const main = originUrl(source).replace(originOf(originUrl(source)), at);
  const asked: URL[] = [];
  const listed = await listBucket(source, { ...ALL, ...change }, main, async (address) => {
    asked.push(new URL(address));
    const response = await fetch(address);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return text;
  });
  return { ...listed, asked };
}

/** Many at a time: the servers are slow. */
async function putAll(names: readonly string[], put: (name: string) => Promise<Response>): Promise<void> {
  const left = [...names];
  const work = async (): Promise<void> => {
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      const response = await put(name);
      assert.ok(response.ok, `${name}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer().catch(() => {});
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
}

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `many/${at % 10}/${String(at).padStart(5, '0')}.mp4`);

let server: ChildProcess | undefined;
async function serve(command: string, args: readonly string[], port: number, env: Record<string, string> = {}) {
  const said: string[] = [];
  server = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [server.stdout, server.stderr]) stream!.on('data', (text: Buffer) => said.push(text.toString()));
  await until('the server answers', () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  );
}

describe('a listing of Azure Storage, by Azurite', function () {
  this.timeout(600_000);
  const ACCOUNT = 'films';
  const KEY = Buffer.from('the key of an account').toString('base64');
  /** Of an account: all of its blobs, to read, list, write and create. */
  const signed = (): string => {
    const [version, expiry] = ['2021-06-08', '2100-01-01T00:00:00Z'];
    const rights = { sp: 'rwlc', ss: 'b', srt: 'sco' };
    const text = [ACCOUNT, rights.sp, rights.ss, rights.srt, '', expiry, '', '', version, '', ''].join('\n');
    const sig = createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64');
    return new URLSearchParams({ sv: version, ...rights, se: expiry, sig }).toString();
  };
  const sas = signed();
  let at = '';
  const source = (prefix: string, secret = sas) =>
    withCredential(
      parseSource(`az://${ACCOUNT}/${prefix}${ANYTHING}`),
      { name: 'x', kind: 'az', accounts: ['*'], buckets: [`${ACCOUNT}/library`] },
      { sas: secret },
    )!;
  before(async function () {
    unlessLong(this, 'Azurite and its packages are 240 MB');
    const proof = 'node_modules/azurite/dist/src/blob/main.js';
    const folder = fetched({ name: 'stores/azurite-3.37.0', steps: [npmInstall('azurite@3.37.0')], proof });
    if (folder === null) return this.skip();
    const port = await freePort();
    const args = ['--blobPort', String(port), '--inMemoryPersistence', '--silent', '--disableTelemetry'];
    await serve(process.execPath, [join(folder, proof), ...args], port, { AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY}` });
    at = `http://127.0.0.1:${port}/${ACCOUNT}`;
    const made = await fetch(`${at}/library?restype=container&${sas}`, { method: 'PUT' });
    assert.equal(made.status, 201, await made.text());
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    await putAll([...numbered(2_500), ...AWKWARD.map((name) => `awkward/${name}`)], (name) =>
      fetch(`${at}/library/${encodeKey(name)}?${sas}`, { method: 'PUT', headers, body: 'x' }),
    );
  });
  after(() => server?.kill('SIGKILL'));

  it('has each object once, in several pages', async () => {
    const { names, found, next } = await list(source('library/many/'), at);
    assert.deepEqual([names.toSorted(), found, next], [numbered(2_500).toSorted(), 2_500, null]);
  });

  it('goes on from the marker of a page', async () => {
    const { names, asked } = await list(source('library/many/'), at);
    const cursor = asked[1]!.searchParams.get('marker');
    assert.deepEqual(
      [asked.length, (await list(source('library/many/'), at, { cursor })).names],
      [3, names.slice(1_000)],
    );
  });

  it('has awkward names, sizes and times', async () => {
    const wanted = { minBytes: 1, maxBytes: 1, modifiedAfter: Date.now() - 3_600_000 };
    const { names, unreadable } = await list(source('library/awkward/'), at, wanted);
    assert.deepEqual([names.toSorted(), unreadable], [AWKWARD.map((name) => `awkward/${name}`).toSorted(), 0]);
    assert.deepEqual((await list(source('library/awkward/'), at, { ...wanted, minBytes: 2, maxBytes: 2 })).names, []);
  });
});

describe('a listing of Google Cloud Storage, by fake-gcs-server', function () {
  this.timeout(600_000);
  let at = '';
  const source = (prefix: string) => parseSource(`gs://${prefix}${ANYTHING}`);
  before(async function () {
    unlessLong(this, 'the server takes minutes to build');
    const version = 'v1.56.1';
    const install = `GOBIN="$PWD" GOFLAGS=-trimpath go install github.com/fsouza/fake-gcs-server@${version}`;
    const proof = 'fake-gcs-server';
    const folder = fetched({ name: `stores/fake-gcs-server-${version}`, steps: [['sh', '-c', install]], proof });
    if (folder === null) return this.skip();
    const port = await freePort();
    at = `http://127.0.0.1:${port}`;
    const args = ['-backend', 'memory', '-scheme', 'http', '-host', '127.0.0.1', '-port', String(port)];
    await serve(join(folder, proof), [...args, '-public-host', `127.0.0.1:${port}`], port);
    const json = { 'Content-Type': 'application/json' };
    const made = await fetch(`${at}/storage/v1/b`, { method: 'POST', headers: json, body: '{"name":"films"}' });
    assert.equal(made.status, 200, await made.text());
    // It has all objects on one page, whatever it is asked for.
    await putAll([...numbered(900), ...AWKWARD.map((name) => `awkward/${name}`)], (name) =>
      fetch(`${at}/upload/storage/v1/b/films/o?uploadType=media&name=${encodeURIComponent(name)}`, {
        method: 'POST',
        headers: { 'Content-Type': 'video/mp4' },
        body: 'x',
      }),
    );
  });
  after(() => server?.kill('SIGKILL'));

  it('has each object once', async () => {
    const { names, found, next } = await list(source('films/many/'), at);
    assert.deepEqual([names.toSorted(), found, next], [numbered(900).toSorted(), 900, null]);
  });

  it('has awkward names, sizes and times', async () => {
    const wanted = { minBytes: 1, maxBytes: 1, modifiedAfter: Date.now() - 3_600_000 };
    const { names, unreadable } = await list(source('films/awkward/'), at, wanted);
    assert.deepEqual([names.toSorted(), unreadable], [AWKWARD.map((name) => `awkward/${name}`).toSorted(), 0]);
    assert.deepEqual((await list(source('films/awkward/'), at, { minBytes: 2 })).names, []);
  });
});
