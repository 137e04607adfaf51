import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { parseSource } from '../../src/source/address/parse.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { listen } from './listen.ts';
import { Cleanup, pattern } from './origin.ts';

const cleanup = new Cleanup();
const body = pattern(3_000_000);

type Answering = (socket: Socket, from: number, to: number, request: number) => void;

const headOf = (from: number, to: number, framing = `content-length: ${to - from + 1}`): string =>
  `HTTP/1.1 206 x\r\nContent-Range: bytes ${from}-${to}/${body.length}\r\n${framing}\r\n\r\n`;
const part = (from: number, to: number, head = headOf(from, to), tail = ''): Buffer =>
  Buffer.concat([Buffer.from(head), body.subarray(from, to + 1), Buffer.from(tail)]);

const middle = (from: number, to: number): number => Math.floor((from + to) / 2);

/** `request`: of its connection, from 0 on. */
const origins: [string, Answering][] = [
  ['sends an empty line after each body', (socket, from, to) => socket.write(part(from, to, undefined, '\r\n'))],
  [
    'sends an answer more than was asked for',
    (socket, from, to) => socket.write(part(from, to, undefined, `${headOf(0, 99_999)}${'no'.repeat(50_000)}`)),
  ],
  ['says half of what it sends', (socket, from, to) => socket.write(part(from, to, headOf(from, middle(from, to))))],
  ['sends half of what is asked for', (socket, from, to) => socket.write(part(from, middle(from, to)))],
  ['sends more than is asked for', (socket, from) => socket.write(part(from, body.length - 1))],
  ['breaks off in the middle', (socket, from, to) => socket.end(part(from, middle(from, to), headOf(from, to)))],
  ['ends bodies with their connection', (socket, from, to) => socket.end(part(from, to, headOf(from, to, 'x: y')))],
  ['speaks HTTP/1.0', (socket, from, to) => socket.end(part(from, to, headOf(from, to).replace('1.1', '1.0')))],
  [
    'closes a connection at its second request',
    (socket, from, to, request) => (request === 1 ? socket.destroy() : socket.write(part(from, to))),
  ],
  [
    'answers the second request of a connection with nonsense',
    (socket, from, to, request) => socket.write(request === 1 ? 'x\r\n\r\n' : part(from, to)),
  ],
];

describe('source proxy: an origin with oddities is read to its end', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  for (const [title, answers] of origins)
    it(`that ${title}`, async () => {
      const server = cleanup.add(
        await listen((socket) => {
          let text = '';
          let request = 0;
          socket.on('data', (bytes) => {
            text += bytes.toString('latin1');
            const range = /range: bytes=(\d+)-(\d+)[^]*\r\n\r\n/.exec(text);
            if (range === null) return;
            text = '';
            answers(socket, Number(range[1]), Math.min(Number(range[2]), body.length - 1), request++);
          });
        }),
      );
      const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }] }));
      const job = cleanup.add(
        proxy.open({ source: parseSource(`http://127.0.0.1:${server.port}/a.bin`), limits: { maxBytes: 1e10 } }),
      );
      const reply = await ask(job.address('a'));
      assert.equal(reply.cut, false);
      assert.ok(reply.body.equals(body));
    });
});
