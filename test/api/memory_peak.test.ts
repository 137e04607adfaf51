/** Memory of the API for large results: in a separate process, with the heap of its pod. */
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { body, good } from '../result/result_samples.ts';
import { ADMIN, aCloseInput, anOpenInput, startStore, type StoreFixture } from '../store/fixture.ts';
import { until } from '../until.ts';
import { packText } from '../result/text_body.ts';

/** Three such results of one account are streamed at once. */
const BUDGET = 120_000_000;
const LONG_BYTES = 24_000_000;
/**
 * Covers Node, its code and uncollected garbage, which varies by 40 MB from run to run. A pod has 512 MiB; the
 * requested responses are ten times as large.
 */
const MOST_MB = 370;

describe('memory of the API for large results', function () {
  this.timeout(180_000);
  let fixture: StoreFixture;
  let child: ChildProcess;
  let url = '';
  const sockets: Socket[] = [];
  before(async () => {
    fixture = await startStore({ retryMs: 5_000 });
    child = fork(new URL('result_server.ts', import.meta.url), [fixture.server.url, String(BUDGET)], {
      execArgv: ['--max-old-space-size=256'],
    });
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    url = `http://127.0.0.1:${port}`;
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    child.kill('SIGKILL');
    await fixture.close();
  });

  async function stored(output: string, size: 'recorded' | 'not recorded'): Promise<string> {
    const open = anOpenInput(fixture.store, {
      tokenId: fixture.admin.tokenId,
      userId: fixture.admin.userId,
      waiter: null,
      request: { options: {}, response: { shown: ['ffprobe'], injectOutput: false, injectJson: false } },
    });
    const { packed, size: bytes } = packText(body([good('ffprobe', output)]));
    await fixture.store.openRequest(open);
    await fixture.store.closeRequest(
      aCloseInput(open, {
        body: packed,
        inflatedBytes: size === 'recorded' ? bytes : undefined,
      }),
    );
    return open.id;
  }
  const get = async (
    path: string,
  ): Promise<{ status: number; retryAfter: string | null; bytes: number; text: string }> => {
    const response = await fetch(url + path, { headers: { Authorization: `Bearer ${ADMIN.token}` } });
    let [bytes, text] = [0, ''];
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      if (bytes < 1_000) text += Buffer.from(chunk).toString('latin1', 0, 1_000);
      bytes += chunk.length;
    }
    return { status: response.status, retryAfter: response.headers.get('retry-after'), bytes, text };
  };
  const peakMb = (): number =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;

  for (const [what, letter, size] of [
    ['ASCII', 'A', 'recorded'],
    ['text beyond U+00FF', '\u2026', 'not recorded'],
  ] as const) {
    it(`ten callers at once read back ${what}, size ${size}, within the memory limit`, async () => {
      const id = await stored(JSON.stringify({ a: letter.repeat(LONG_BYTES / Buffer.byteLength(letter)) }), size);
      const [read, log] = [`/v1/probe/${id}`, `/frontend/api/v1/media/log/${id}`];
      const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => get(index % 3 === 0 ? log : read)));
      assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
      for (const { status, bytes, retryAfter, text } of answers) {
        if (status === 503) assert.ok(Number(retryAfter) > 0, text);
        else assert.ok(status === 200 && bytes > LONG_BYTES, `${status}: ${bytes} ${text}`);
      }
      assert.ok(answers.some(({ status }) => status === 200));
      const [one, detail] = [await get(read), await get(log)];
      assert.deepEqual([one.status, detail.status], [200, 200], one.text + detail.text);
      assert.ok(
        one.text.includes('"response":{"a":') && detail.text.includes('"ffprobe-response":"{\\"a\\":'),
        one.text.slice(0, 300) + detail.text.slice(0, 600),
      );
      assert.ok(peakMb() < MOST_MB, `${Math.round(peakMb())} MB`);
    });
  }

  it('callers that never read hold at most half of the budget: the next gets 503, small results pass', async () => {
    const id = await stored(JSON.stringify({ a: 'A'.repeat(LONG_BYTES) }), 'recorded');
    const { port } = new URL(url);
    for (let count = 0; count < 3; count++) {
      const socket = connect(Number(port), '127.0.0.1');
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write(`GET /v1/probe/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN.token}\r\n\r\n`);
      await once(socket, 'readable');
    }
    const refused = await get(`/v1/probe/${id}`);
    assert.deepEqual([refused.status, refused.retryAfter], [503, '5'], refused.text);
    const small = await get(`/v1/probe/${await stored('{"small":1}', 'recorded')}`);
    assert.equal(small.status, 200);
    for (const socket of sockets) socket.destroy();
    await until('the memory budget is free again', async () => (await get(`/v1/probe/${id}`)).status === 200, 30_000);
    assert.ok(peakMb() < MOST_MB, `${Math.round(peakMb())} MB`);
  });
});
