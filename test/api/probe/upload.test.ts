import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Uploads } from '../../../src/service/api/deps.ts';
import { readSealed } from '../../../src/service/controller/leader/resolve_job.ts';
import { openSealed } from '../../../src/platform/seal/seal.ts';
import { startProxy } from '../../../src/source/proxy.ts';
import { serveUploads, type UploadServer } from '../../../src/source/upload/serve.ts';
import { openSpool, type Spool } from '../../../src/source/upload/spool.ts';
import { ask } from '../../source/ask.ts';
import { pattern } from '../../source/origin.ts';
import { until } from '../../until.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';

const content = pattern(300_000);
const ROOM = 2_000_000;
const MAX = 800_000;

type Fields = Record<string, string>;

function form(file: Buffer | undefined, fields: Fields = {}, name = 'film.mp4'): FormData {
  const data = new FormData();
  for (const [field, value] of Object.entries(fields)) data.set(field, value);
  if (file) data.set('file', new Blob([new Uint8Array(file)]), name);
  return data;
}

describe('an uploaded file', function () {
  this.timeout(120_000);
  let folder: string;
  let spool: Spool;
  let server: UploadServer;
  let api: ApiFixture;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spool-'));
    spool = await openSpool({ folder, maxBytes: ROOM });
    server = await serveUploads(spool, { host: '127.0.0.1', port: 0 });
    const uploads: Uploads = {
      spool,
      maxBytes: MAX,
      host: '127.0.0.1',
      port: server.port,
      pace: { overMs: 1_000, leastBytesPerS: 10_000 },
    };
    api = await startApi({}, { uploads });
  });
  after(async () => {
    await api.stop();
    await server.close();
    await spool.close();
    await rm(folder, { recursive: true, force: true });
  });

  const send = (body: FormData | string | Buffer, headers: Fields = {}): Promise<Response> =>
    fetch(`${api.url}/v1/probe/file`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${api.token}`, ...headers },
      body: Buffer.isBuffer(body) ? new Uint8Array(body) : body,
    });
  const errorOf = async (response: Response): Promise<string> => ((await response.json()) as { error: string }).error;
  /** A job of an upload has no host. */
  const jobOf = () => api.job('');
  const emptied = (): Promise<true> =>
    until('the spool is empty', async () => ((await readdir(folder)).length === 0 ? (true as const) : undefined));

  it('becomes a job whose runner reads it, and is removed with the answer', async () => {
    const answering = send(form(content, { timeout: '30000', 'ffprobe[show_frames]': 'true' }));
    const job = await jobOf();
    const id = job.metadata.name;
    assert.equal(job.spec.source.display, 'upload:///film.mp4');
    assert.equal(job.spec.timeoutMs, 30_000);
    assert.deepEqual(job.spec.tools?.[0]?.options, { show_frames: 'true' });
    const text = openSealed(job.spec.source.sealed!, { requestId: id, tokenId: api.tokenId }, api.privateKeys);
    const source = readSealed(text, []);
    const proxy = await startProxy();
    try {
      // A job that is run again reads it again.
      for (let attempt = 0; attempt < 2; attempt++) {
        const open = proxy.open({ source, limits: { maxBytes: 1e9 } });
        assert.ok((await ask(open.address('a'))).body.equals(content));
        open.close();
      }
    } finally {
      await proxy.close();
    }
    assert.ok(!JSON.stringify(job).includes(source.upload!.key));
    await api.end(id, { result: { tools: [tool('ffprobe', '{}'), tool('mediainfo', '{}')], ioUsage: content.length } });
    const response = await answering;
    assert.equal(response.status, 200, await response.clone().text());
    await emptied();
    assert.deepEqual(spool.figures(), { files: 0, bytes: 0 });
    assert.ok(!api.log.join('\n').includes(source.upload!.key));
  });

  it('of a request without a waiting caller is kept until its end', async () => {
    const accepted = await send(form(content), { Prefer: 'respond-async' });
    assert.equal(accepted.status, 202);
    const job = await jobOf();
    assert.equal((await readdir(folder)).length, 1);
    await api.end(job.metadata.name, { result: { tools: [tool('ffprobe', '{}')], ioUsage: 1 } });
    await emptied();
  });

  it('is removed when its caller disconnects', async () => {
    const abort = new AbortController();
    const answering = fetch(`${api.url}/v1/probe/file`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${api.token}` },
      body: form(content),
      signal: abort.signal,
    }).catch(() => {});
    await jobOf();
    abort.abort();
    await answering;
    await emptied();
  });

  it('counts for the Idempotency-Key by its content', async () => {
    const again = (file: Buffer): Promise<Response> =>
      send(form(file), { 'Idempotency-Key': 'upload-1', Prefer: 'respond-async' });
    assert.equal((await again(content)).status, 202);
    assert.equal((await again(content)).status, 202);
    assert.equal((await again(content.subarray(4))).status, 400);
    const job = await jobOf();
    await api.end(job.metadata.name, { result: { tools: [tool('ffprobe', '{}')], ioUsage: 1 } });
    await emptied();
  });

  const parts = (count: number, file = true): string =>
    [
      ...Array.from({ length: count }, (_, at) => `--b\r\nContent-Disposition: form-data; name="f${at}"\r\n\r\nv\r\n`),
      ...(file ? ['--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\nabc\r\n'] : []),
      '--b--\r\n',
    ].join('');
  const B = { 'Content-Type': 'multipart/form-data; boundary=b' };
  const notUtf8 = (text: string): Buffer => Buffer.from(text.replace('\r\nv', '\r\n\xe4'), 'latin1');
  const one = (name: string, value: string): string =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--b--\r\n`;

  for (const [what, body, headers, expected] of [
    ['and an address', () => form(content, { url: 'https://one.test/a' }), {}, /^url and file: exactly one of them/],
    ['and headers', () => form(content, { 'headers[X-A]': '1' }), {}, /^headers: have no effect with a file$/],
    ['neither', () => form(undefined, { timeout: '1000' }), {}, /^url: is required/],
    ['as a text', () => form(undefined, { file: 'abc' }), {}, /^file: must be a file/],
    ['under another name', () => parts(0).replace('"file"', '"video"'), B, /^video: is a file; only file may be one$/],
    [
      'twice',
      () => parts(0).replace('--b--', '') + parts(0),
      B,
      /^file: is given more than once|is not valid multipart/,
    ],
    ['that is empty', () => form(Buffer.alloc(0)), {}, /^file: is empty$/],
    ['over the cap', () => form(pattern(MAX + 4)), {}, /^file: must have at most 800000 bytes$/],
    ['with 1,000 parts', () => parts(1_000), B, /^body: has more than 256 fields$/],
    ['with a long field', () => one('url', 'x'.repeat(1_100_000)), B, /^body: must be at most 1 MB, the file apart$/],
    ['with long headers', () => one('url"\r\nX: '.concat('x'.repeat(20_000)), ''), B, /^body: |^url: is required/],
    ['with a text that is not UTF-8', () => notUtf8(parts(1)), B, /^body: is not valid UTF-8$/],
    ['as a text that is not UTF-8', () => notUtf8(parts(1, false)), B, /^body: is not valid UTF-8$/],
    ['cut short', () => parts(0).slice(0, -12), B, /^body: is not valid multipart/],
    ['without a boundary', () => parts(1), { 'Content-Type': 'multipart/form-data' }, /^body: is not valid multipart/],
    [
      'with a part without a name',
      () => one('', 'x').replace('; name=""', ''),
      B,
      /^body: is not valid multipart\/form-data$/,
    ],
    ['with a field twice', () => parts(1).replace('--b--\r\n', '') + parts(1), B, /^f0: |^file: |^body: /],
  ] as [string, () => FormData | string | Buffer, Fields, RegExp][])
    it(`${what} is 400, and leaves nothing behind`, async () => {
      const response = await send(body(), headers);
      const text = await response.clone().text();
      assert.equal(response.status, 400, text);
      assert.match(await errorOf(response), expected);
      await emptied();
    });

  it('is counted while it arrives, if its length is not declared', async () => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (data) => (answer += data.toString())).on('error', () => {});
    socket.write(
      `POST /v1/probe/file HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${api.token}\r\n` +
        `Transfer-Encoding: chunked\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n`,
    );
    const chunk = (text: string): boolean => socket.write(`${text.length.toString(16)}\r\n${text}\r\n`);
    chunk('--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n');
    for (let at = 0; at < 20; at++) chunk('x'.repeat(60_000));
    await until('an answer', () => answer || undefined);
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /at most 800000 bytes/);
    socket.destroy();
    await emptied();
  });

  it('that arrives too slowly is refused and closed', async () => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    let answer = '';
    let closed = false;
    socket.on('data', (data) => (answer += data.toString())).on('error', () => {});
    socket.on('close', () => (closed = true));
    const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n';
    socket.write(
      `POST /v1/probe/file HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${api.token}\r\nContent-Length: 500000\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\n\r\n${head}abc`,
    );
    const trickle = setInterval(() => socket.writable && socket.write('x'), 50);
    try {
      await until('the connection is closed', () => closed || undefined);
    } finally {
      clearInterval(trickle);
    }
    assert.match(answer, /^HTTP\/1\.1 400 [^]*is sent too slowly/);
    await emptied();
  });

  it('is 503 when its account has half of the room', async () => {
    const accepted = await send(form(pattern(700_000)), { Prefer: 'respond-async' });
    assert.equal(accepted.status, 202);
    const job = await jobOf();
    const refused = await send(form(pattern(700_000)));
    assert.equal(refused.status, 503);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.match(await errorOf(refused), /the uploads of this account/);
    await api.end(job.metadata.name, { result: { tools: [tool('ffprobe', '{}')], ioUsage: 1 } });
    await emptied();
  });

  it('is refused by an endpoint that takes none', async () => {
    const response = await fetch(`${api.url}/v1/compare`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${api.token}` },
      body: form(content),
    });
    assert.equal(response.status, 400);
    assert.equal(await errorOf(response), 'file: is a file; only text fields are accepted');
  });
});
