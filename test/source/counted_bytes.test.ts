/** What a job is charged for: every byte that its sockets read, whatever the origin wraps the data in. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { until } from '../until.ts';
import { ask } from './ask.ts';
import { listen } from './listen.ts';
import { Cleanup } from './origin.ts';

const cleanup = new Cleanup();

interface Flood {
  job: Job;
  sent(): number;
  connections(): number;
}

/** `serve` is called with each request, or with each connection if the server of this scheme speaks first. */
async function open(scheme: 'http' | 'ftp', serve: (socket: Socket, text: string) => void): Promise<Flood> {
  const sockets: Socket[] = [];
  const server = cleanup.add(
    await listen((socket) => {
      sockets.push(socket);
      if (scheme === 'ftp') serve(socket, '');
      socket.on('data', (bytes) => serve(socket, bytes.toString('latin1')));
    }),
  );
  const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }] }));
  const source = parseSource(`${scheme}://127.0.0.1:${server.port}/a.bin`);
  const job = cleanup.add(proxy.open({ source, limits: { maxBytes: 3_000_000 } }));
  const sent = (): number => sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
  return { job, sent, connections: () => server.connections };
}

/** Sends the piece for as long as the reader takes it. */
function flood(socket: Socket, piece: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const chunk = (data: string, extension: number): string =>
  `${data.length.toString(16)};${'x'.repeat(extension)}\r\n${data}\r\n`;
/** What the system may have of a connection that nobody reads any more. */
const IN_FLIGHT = 8 << 20;

describe('source proxy: bytes of an origin are counted as they are read', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  for (const [title, piece, message] of [
    ['extensions of 16,000 bytes', chunk('a', 16_000), 'the host sends more framing than data'],
    ['extensions of 200 bytes', chunk('a', 200).repeat(100), 'the host sends more framing than data'],
    ['one byte each', chunk('a', 0).repeat(1000), 'the host sends more framing than data'],
    ['extensions of half its data', chunk('a'.repeat(400), 200).repeat(100), 'more than 3000000 bytes were read'],
  ] as const)
    it(`endless chunks with ${title} end the read, and are paid for`, async () => {
      const { job, sent } = await open('http', (socket) => {
        socket.write(CHUNKED);
        flood(socket, piece);
      });
      await ask(job.address('a'));
      assert.equal(job.stats().failure?.message, message);
      const { ioUsage, origin } = job.stats();
      assert.ok(ioUsage > piece.length && ioUsage < 3_200_000, `${ioUsage} bytes`);
      assert.ok(sent() < ioUsage + IN_FLIGHT, `${sent()} bytes sent, ${ioUsage} counted`);
      assert.equal(origin['a']!.bytes, ioUsage);
    });

  const head = (body: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const early = `HTTP/1.1 103 Early Hints\r\nlink: ${'x'.repeat(900)}\r\n\r\n`;
  for (const [title, response] of [
    ['a head', head('abc')],
    ['interim responses', early.repeat(10) + head('abc')],
    ['framing and trailers', `${CHUNKED}${chunk('abc', 100)}0\r\nx: ${'y'.repeat(5000)}\r\n\r\n`],
  ] as const)
    it(`${title} count like data`, async () => {
      const { job } = await open('http', (socket) => socket.write(response));
      assert.equal((await ask(job.address('a'))).body.toString(), 'abc');
      assert.equal(job.stats().ioUsage, response.length);
    });

  it('redirects and their bodies count', async () => {
    const body = 'x'.repeat(8000);
    const moved = `HTTP/1.1 302 Found\r\nlocation: /b\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const { job } = await open('http', (socket, text) => socket.write(text.includes(' /b ') ? head('abc') : moved));
    assert.equal((await ask(job.address('a'))).body.toString(), 'abc');
    await until('all is counted', () => job.stats().ioUsage === moved.length + head('abc').length);
  });

  it('what follows an answer counts to it', async () => {
    const { job, connections } = await open('http', (socket) => socket.write(`${head('abc')}${'x'.repeat(10_000)}`));
    assert.equal((await ask(job.address('a'))).body.toString(), 'abc');
    await until('all is counted', () => job.stats().ioUsage === head('abc').length + 10_000);
    assert.equal(connections(), 1);
  });

  it('FTP: replies count, and a flood of them ends the read', async () => {
    const { job } = await open('ftp', (socket, text) => (text === '' ? flood(socket, '220 ready\r\n') : undefined));
    await ask(job.address('a'));
    assert.equal(job.stats().failure?.message, 'the host does not answer with FTP');
    assert.ok(job.stats().ioUsage >= 220, `${job.stats().ioUsage} bytes`);
  });
});

describe('source proxy: nonsense is refused at once', function () {
  // Less than the time that a host has for its answer.
  this.timeout(10_000);
  afterEach(() => cleanup.run());

  for (const [title, response] of [
    ['a head whose lines end in LF alone', 'HTTP/1.1 200 OK\ncontent-length: 3\n\nabc'],
    ['a head of which one line does', 'HTTP/1.1 200 OK\r\nx: y\ncontent-length: 3\r\n'],
    ['an empty line of LF alone', 'HTTP/1.1 200 OK\r\nx: y\r\n\n'],
    ['an interim response of such lines', 'HTTP/1.1 103 Early Hints\n\n'],
    ['the banner of another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a line of a chunk that ends in LF alone', `${CHUNKED}3\n`],
    ['a trailer that ends in LF alone', `${CHUNKED}0\r\nx: y\n`],
  ] as const)
    it(`HTTP: ${title}`, async () => {
      const { job } = await open('http', (socket) => socket.write(response));
      await ask(job.address('a'));
      assert.equal(job.stats().failure?.message, 'the host does not answer with HTTP');
    });

  it('HTTP: a long interim response', async () => {
    const { job } = await open('http', (socket) =>
      socket.write(`HTTP/1.1 103 Early Hints\r\nx: ${'y'.repeat(20_000)}`),
    );
    await ask(job.address('a'));
    assert.equal(job.stats().failure?.message, 'the head of the answer of the host is longer than 16 KB');
  });

  it('HTTP: interim responses that are longer together than a head may be', async () => {
    const { job } = await open('http', (socket) =>
      socket.write(`HTTP/1.1 103 Early Hints\r\nx: ${'y'.repeat(6000)}\r\n\r\n`.repeat(3)),
    );
    await ask(job.address('a'));
    assert.equal(job.stats().failure?.message, 'the host sends endless interim responses');
  });

  for (const [title, reply] of [
    ['a line without a code', 'HTTP/1.1 400 Bad Request\r\n'],
    ['a code of two digits', '22 ready\r\n'],
    ['a reply without an end', `220-${'x'.repeat(20_000)}`],
    ['a reply of endless lines', '220-x\r\n'.repeat(4000)],
    ['endless empty lines', '\r\n'.repeat(10_000)],
  ] as const)
    it(`FTP: ${title}`, async () => {
      const { job } = await open('ftp', (socket, text) => text === '' && socket.write(reply));
      await ask(job.address('a'));
      assert.equal(job.stats().failure?.message, 'the host does not answer with FTP');
    });

  it('FTP: lines may end in LF alone', async () => {
    const { job } = await open('ftp', (socket, text) =>
      socket.write(text === '' ? '220-several\n 220 x\n220 ready\n' : '530 no\n'),
    );
    await ask(job.address('a'));
    assert.equal(job.stats().failure?.message, 'the FTP server answered 530');
  });
});
