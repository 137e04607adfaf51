/** `probeyard mcp` as clients start it: a process with lines on stdin and stdout. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isKubeError, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { eventData, headersOf, linesOf } from '../../src/cli/mcp/bridge.ts';
import { startApi, tool, type ApiFixture } from '../api/fixture.ts';
import { modern } from '../api/mcp/clients.ts';
import { until } from '../until.ts';

const PROGRAM = join(import.meta.dirname, '../../src/cli/main.ts');

interface Message {
  id?: number | string | null;
  method?: string;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

interface Bridge {
  child: ChildProcess;
  send(...lines: unknown[]): void;
  /** The next answer with this id. */
  answer(id: number | null): Promise<Message>;
  close(): Promise<number | null>;
}

function startBridge(url: string, token: string): Bridge {
  const env = { PATH: process.env['PATH'], PROBEYARD_URL: url, PROBEYARD_TOKEN: token };
  const child = spawn(process.execPath, [PROGRAM, 'mcp'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const seen: Message[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => void seen.push(JSON.parse(line) as Message));
  return {
    child,
    send(...lines) {
      for (const line of lines) child.stdin!.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
    },
    answer: (id) =>
      until(
        `an answer to ${id}`,
        async () => {
          const place = seen.findIndex((message) => message.id === id && message.method === undefined);
          return place < 0 ? undefined : seen.splice(place, 1)[0];
        },
        60_000,
      ),
    async close() {
      const ended = once(child, 'close') as Promise<[number | null]>;
      child.stdin!.end();
      return (await ended)[0];
    },
  };
}

describe('probeyard mcp', function () {
  this.timeout(240_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api?.stop());

  const call = (id: number, url: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'analyze_media_file', arguments: { url } },
  });

  it('forwards lines of both generations, and answers with one line each', async () => {
    const bridge = startBridge(api.url, api.token);
    bridge.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    });
    assert.equal((await bridge.answer(1)).result!['protocolVersion'], '2025-06-18');
    bridge.send(
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    );
    assert.equal(Array.isArray((await bridge.answer(2)).result!['tools']), true);
    bridge.send({ ...modern('tools/list'), id: 3 }, call(4, 'https://bridge.test/a.mp4'));
    assert.equal((await bridge.answer(3)).result!['resultType'], 'complete');
    const job = await api.job('bridge.test');
    await api.end(job.metadata.name, {
      result: { tools: [tool('ffprobe', '{}'), tool('mediainfo', '{}', { version: '24.06' })], ioUsage: 1 } as never,
    });
    assert.match(JSON.stringify((await bridge.answer(4)).result), new RegExp(job.metadata.name));
    assert.equal(await bridge.close(), 0);
  });

  it('a cancelled call is cancelled in the cluster, and others go on', async () => {
    const bridge = startBridge(api.url, api.token);
    bridge.send(call(1, 'https://stop.test/a.mp4'));
    const job = await api.job('stop.test');
    bridge.send(
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    );
    await until('the job is gone', async () => {
      try {
        await api.kube.get(PROBE_JOBS, job.metadata.name, { namespace: api.namespace });
        return undefined;
      } catch (error) {
        if (isKubeError(error, 'not-found')) return true;
        throw error;
      }
    });
    assert.ok((await bridge.answer(2)).result);
    assert.equal(await bridge.close(), 0);
  });

  it('answers for a server that refuses or is away, and for lines that are no messages', async () => {
    const refused = startBridge(api.url, 'x'.repeat(64));
    refused.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    assert.match((await refused.answer(1)).error!.message, /credential is not valid/);
    await refused.close();
    const away = startBridge('http://127.0.0.1:9', api.token);
    away.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, '{', '7', `"${'x'.repeat(1_100_000)}"`);
    assert.match((await away.answer(1)).error!.message, /cannot reach/);
    const codes = [await away.answer(null), await away.answer(null), await away.answer(null)].map(
      ({ error }) => error!.code,
    );
    assert.deepEqual(codes.sort(), [-32_600, -32_700, -32_700].sort());
    assert.equal(await away.close(), 0);
  });
});

describe('messages of the bridge', () => {
  const bytes = async function* (...parts: string[]): AsyncGenerator<Buffer> {
    for (const part of parts) yield Buffer.from(part);
  };
  const all = async (lines: AsyncIterable<string>): Promise<string[]> => {
    const read: string[] = [];
    for await (const line of lines) read.push(line);
    return read;
  };

  it('headers repeat what a message of the newest revision says', () => {
    const { params, method } = modern('tools/call', { name: 'sucheÄ' });
    assert.deepEqual(headersOf({ method, params }, undefined), {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': `=?base64?${Buffer.from('sucheÄ').toString('base64')}?=`,
    });
    assert.deepEqual(headersOf({ method: 'tools/list' }, '2025-06-18'), { 'MCP-Protocol-Version': '2025-06-18' });
    assert.deepEqual(headersOf({ method: 'initialize', params: [] }, undefined), {});
  });

  it('lines are put together from pieces', async () => {
    assert.deepEqual(await all(linesOf(bytes('a', 'b\nc', '\n\nd'))), ['ab', 'c', '', 'd']);
    const [long] = await all(linesOf(bytes(...Array.from({ length: 40 }, () => 'x'.repeat(100_000)), '\n')));
    assert.ok(long!.length <= 2 * 1024 * 1024);
  });

  it('data of events is put together from pieces', async () => {
    const stream = bytes(': hello\n\nid: 1\nda', 'ta: a\r\ndata:b\r\n\r', '\nevent: x\n\ndata: c\n\ndata: unfinished');
    assert.deepEqual(await all(eventData(stream)), ['a\nb', 'c']);
  });
});
