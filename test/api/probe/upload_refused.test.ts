/** Uploads that are refused before their body is read. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSpool, type Spool, type SpoolPlace } from '../../../src/source/upload/spool.ts';
import { aCloseInput, anOpenInput } from '../../store/fixture.ts';
import { until } from '../../until.ts';
import { startApi, type ApiFixture } from '../fixture.ts';

const MB = 1_000_000;
const REQUEST_STARTS = 'http.server.request.start';

describe('an upload that is refused before its first byte', function () {
  this.timeout(120_000);
  let folder: string;
  let spool: Spool;
  let api: ApiFixture;
  let lastSocket: Socket | undefined;
  const note = (message: unknown): void => void (lastSocket = (message as { socket: Socket }).socket);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spool-'));
    spool = await openSpool({ folder, maxBytes: 1_000 * MB });
    api = await startApi({}, { uploads: { spool, maxBytes: 500 * MB, host: '127.0.0.1', port: 9 } });
    subscribe(REQUEST_STARTS, note);
  });
  after(async () => {
    unsubscribe(REQUEST_STARTS, note);
    await api.stop();
    await spool.close();
    await rm(folder, { recursive: true, force: true });
  });

  interface Sent {
    /** All that the server said. */
    answer: string;
    bytesRead: number;
  }

  const FIRST = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n';
  const LAST = '\r\n--b--\r\n';

  /** A caller with a file of this size, who sends it at once, or with `expect` when the server says so. */
  async function send(token: string, bytes: number, { expect }: { expect: boolean }): Promise<Sent> {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    let answer = '';
    let ended = false;
    socket.on('data', (data) => (answer += data.toString())).on('error', () => {});
    socket.on('close', () => (ended = true));
    const piece = Buffer.alloc(64 * 1024);
    let left = bytes;
    const pump = (): void => {
      while (left > 0 && socket.writable) {
        const next = piece.subarray(0, Math.min(left, piece.length));
        left -= next.length;
        if (!socket.write(next)) return void socket.once('drain', pump);
      }
      if (socket.writable) socket.write(LAST);
    };
    socket.write(
      `POST /v1/probe/file HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nPrefer: respond-async\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\n${expect ? 'Expect: 100-continue\r\n' : ''}` +
        `Content-Length: ${FIRST.length + bytes + LAST.length}\r\n\r\n`,
    );
    if (expect) await until('an answer', () => answer || undefined);
    if (!expect || answer.startsWith('HTTP/1.1 100')) {
      socket.write(FIRST);
      pump();
    }
    await until('a final answer', () => /HTTP\/1\.1 [2-5]/.test(answer) || undefined);
    const server = lastSocket!;
    if (expect && /connection: close/i.test(answer)) await until('the connection is closed', () => ended);
    socket.destroy();
    return { answer, bytesRead: server.bytesRead };
  }

  const setUp: Record<string, () => Promise<{ token: string; places?: SpoolPlace[] }>> = {
    async 'over its rate'() {
      const { token } = await api.newToken({ requestsPerMinute: 1 });
      const used = await api.get('url=nonsense', { headers: { Authorization: `Bearer ${token}` } });
      assert.equal(used.status, 400);
      return { token };
    },
    async 'over its quota'() {
      const { token, id } = await api.newToken();
      await api.stored.sql(`update tokens set monthly_quota = '{"request-count": 1}' where id = $1`, [id]);
      const used = anOpenInput(api.stored.store, { tokenId: id, userId: api.userId });
      await api.stored.store.openRequest(used);
      await api.stored.store.closeRequest(aCloseInput(used));
      return { token };
    },
    async 'of an account with all of its places taken'() {
      const { token } = await api.newToken();
      return { token, places: Array.from({ length: 64 }, () => spool.reserve(api.userId)) };
    },
  };
  for (const [who, status, expect] of [
    ['over its rate', 429, false],
    ['over its rate', 429, true],
    ['over its quota', 403, false],
    ['over its quota', 403, true],
    ['of an account with all of its places taken', 503, false],
    ['of an account with all of its places taken', 503, true],
  ] as const)
    it(`a token ${who} that sends 200 MB ${expect ? 'with Expect' : 'at once'} is ${status}`, async () => {
      const { token, places = [] } = await setUp[who]!();
      const { answer, bytesRead } = await send(token, 200 * MB, { expect });
      for (const place of places) place.release();
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} [^]*connection: close`, 'i'));
      assert.ok(bytesRead < (expect ? 1_000 : MB), `${bytesRead} bytes were read`);
      assert.deepEqual(spool.figures(), { files: 0, bytes: 0 });
    });

  it('a refused caller that uses fetch gets the answer, and not a broken connection', async () => {
    const { token } = await setUp['over its rate']!();
    const body = new FormData();
    body.set('file', new Blob([new Uint8Array(100 * MB)]), 'a.mp4');
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${api.url}/v1/probe/file`, { method: 'POST', headers, body });
    assert.equal(response.status, 429);
    assert.deepEqual(await response.json(), { error: 'rate limit exceeded; try again later' });
  });

  it('one that is accepted is asked to continue, and is counted once', async () => {
    const { token } = await api.newToken({ requestsPerMinute: 2 });
    const first = await send(token, 100_000, { expect: true });
    assert.match(first.answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 [^]*ratelimit: "default";r=1;/i);
    const second = await send(token, 100_000, { expect: false });
    assert.match(second.answer, /^HTTP\/1\.1 202 [^]*ratelimit: "default";r=0;/i);
    const third = await send(token, 100_000, { expect: true });
    assert.match(third.answer, /^HTTP\/1\.1 429 /);
  });

  it('of ten at once, a token with five calls a minute sends five', async () => {
    const { token } = await api.newToken({ requestsPerMinute: 5 });
    const sent = await Promise.all(Array.from({ length: 10 }, () => send(token, 100_000, { expect: true })));
    const statuses = sent.map(({ answer }) => /HTTP\/1\.1 ([2-5]\d\d)/.exec(answer)?.[1]);
    assert.deepEqual(statuses.toSorted(), [...Array(5).fill('202'), ...Array(5).fill('429')]);
  });

  it('is read at the pace of its account', async () => {
    const { paceOf } = api.wired.deps;
    await paceOf(api.userId)(1);
    assert.equal(paceOf.debtOf(api.userId), 0);
    const { token } = await api.newToken();
    // 3 s of burst, and 2 s at a fifth of a core.
    void paceOf(api.userId)(3_400);
    const began = performance.now();
    const { answer } = await send(token, 100_000, { expect: true });
    assert.match(answer, /HTTP\/1\.1 202 /);
    const ms = performance.now() - began;
    assert.ok(ms > 1_500, `${ms} ms`);
    assert.equal(paceOf.debtOf(api.userId + 1), 0);
  });

  it('a body of JSON is asked for when it is read, and not before the token is known', async () => {
    const json = async (token: string): Promise<string> => {
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
      let answer = '';
      socket.on('data', (data) => (answer += data.toString())).on('error', () => {});
      socket.write(
        `POST /v1/probe/file HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nExpect: 100-continue\r\n` +
          'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n',
      );
      await until('an answer', () => answer || undefined);
      if (answer.startsWith('HTTP/1.1 100')) {
        socket.write('{}');
        await until('a final answer', () => /HTTP\/1\.1 [2-5]/.test(answer) || undefined);
      }
      socket.destroy();
      return answer;
    };
    assert.match(await json(api.token), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 /);
    assert.match(await json('0'.repeat(64)), /^HTTP\/1\.1 401 [^]*connection: close/i);
  });
});
