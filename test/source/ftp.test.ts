import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ftpPath } from '../../src/source/protocols/ftp/transport.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { missingPeer, startFtp, type Peer } from '../streams/peers.ts';
import { ask } from './ask.ts';
import { Cleanup, pattern } from './origin.ts';
import { listen } from './listen.ts';

const missing = await missingPeer('ftp');
const cleanup = new Cleanup();
const body = pattern(3_000_000);
const password = 'a secret/with@all:of it';

describe('ftp sources', function () {
  this.timeout(30_000);
  let folder = '';
  let server: Peer;

  before(async function () {
    if (missing !== undefined) {
      console.log(`      skipped: ${missing}`);
      this.skip();
    }
    folder = mkdtempSync(join(tmpdir(), 'probeyard-ftp-'));
    mkdirSync(join(folder, 'a folder'));
    writeFileSync(join(folder, 'a folder', 'ä#%41 file.mp4'), body);
    writeFileSync(join(folder, 'empty.mp4'), '');
    server = await startFtp(folder, 'user', password, { mostPerIp: 2 });
  });
  afterEach(() => cleanup.run());
  after(async () => {
    await server?.close();
    if (folder !== '') rmSync(folder, { recursive: true });
  });

  async function open(
    path: string,
    { login = `user:${encodeURIComponent(password)}@`, port = server.port, maxBytes = 1e9 } = {},
  ): Promise<Job> {
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], idleTimeoutMs: 5000 }));
    return cleanup.add(
      proxy.open({ source: parseSource(`ftp://${login}127.0.0.1:${port}/${path}`), limits: { maxBytes } }),
    );
  }
  const file = 'a%20folder/%C3%A4%23%2541%20file.mp4';

  it('are served complete, with size and date', async () => {
    const job = await open(file);
    const { status, headers, body: got } = await ask(job.address('a'));
    assert.deepEqual(
      [status, headers['content-length'], headers['accept-ranges']],
      [200, String(body.length), 'bytes'],
    );
    assert.ok(got.equals(body));
    assert.ok(Math.abs(Date.parse(headers['last-modified']!) - Date.now()) < 60_000);
    assert.ok(job.stats().ioUsage >= body.length);
  });

  it('are read in ranges, by two tools at once, over the two connections that the server allows', async () => {
    const job = await open(file);
    const ranges = [
      [2_900_000, 2_999_999],
      [0, 99],
      [1_500_000, 1_999_999],
      [2_000_000, 2_400_000],
      [5, 5],
    ];
    const got = await Promise.all(
      ranges.flatMap(([from, to]) =>
        ['a', 'b'].map((tool) => ask(job.address(tool), { range: `bytes=${from}-${to}` })),
      ),
    );
    got.forEach(({ status, body: part }, i) => {
      const [from, to] = ranges[i >> 1]!;
      assert.equal(status, 206);
      assert.ok(part.equals(body.subarray(from, to! + 1)), `${from}-${to}`);
    });
    assert.ok(job.stats().connections <= 2);
  });

  it('of a server that names no size are served complete, also several times', async () => {
    writeFileSync(join(folder, 'small.mp4'), body.subarray(0, 1000));
    const plain = cleanup.add(await startFtp(folder, 'user', password, { mostPerIp: 2, without: ['SIZE', 'MDTM'] }));
    for (const [path, length] of [
      [file, body.length],
      ['small.mp4', 1000],
      ['empty.mp4', 0],
    ] as const) {
      const job = await open(path, { port: plain.port });
      for (const tool of ['a', 'b']) {
        const { status, headers, body: got, cut } = await ask(job.address(tool), { range: 'bytes=0-' });
        assert.deepEqual([status, headers['content-length'], cut], [200, undefined, false], path);
        assert.ok(got.equals(body.subarray(0, length)), `${path}: ${got.length} bytes`);
      }
      assert.equal(job.stats().failure, undefined);
      job.close();
    }
    const long = await open(file, { port: plain.port, maxBytes: 1_000_000 });
    assert.equal((await ask(long.address('a'))).cut, true);
    assert.equal(long.stats().failure?.reason, 'limit');
  });

  it('an empty file is empty, a missing one is 404, a wrong password is 401', async () => {
    const cases: [path: string, login: string | undefined, status: number][] = [
      ['empty.mp4', undefined, 200],
      ['nothing.mp4', undefined, 404],
      [file, 'user:wrong@', 401],
    ];
    for (const [path, login, status] of cases) {
      const job = await open(path, login === undefined ? {} : { login });
      assert.equal((await ask(job.address('a'))).status, status, path);
      if (status !== 200) assert.equal(job.stats().failure?.code, 'origin-unreachable');
      // The server allows two connections.
      await cleanup.run();
    }
  });

  it('a file over the size limit is refused before it is read', async () => {
    const job = await open(file, { maxBytes: 1_000_000 });
    assert.equal((await ask(job.address('a'))).status, 403);
    assert.equal(job.stats().failure?.code, 'too-large');
    // What the server sends before the transfer is ended.
    assert.ok(job.stats().ioUsage < 1_000_000);
  });

  /** A server that replies to each command so, and with 425 to all others; commands are noted. */
  async function scripted(replies: Record<string, string>): Promise<{ port: number; commands: string[] }> {
    const commands: string[] = [];
    const { port } = cleanup.add(
      await listen((socket) => {
        socket.write('220-several\r\n lines\r\n220 ready\r\n');
        socket.on('data', (bytes) => {
          for (const line of bytes.toString().split('\r\n')) {
            const command = line.split(' ')[0]!;
            if (command === '') continue;
            commands.push(command);
            socket.write(`${replies[command] ?? '425 no'}\r\n`);
          }
        });
      }),
    );
    return { port, commands };
  }
  const welcome = { USER: '230 in', TYPE: '200 ok' };

  it('a server cannot redirect the data connection to another host', async () => {
    const elsewhere = cleanup.add(await listen(() => {}));
    const { port, commands } = await scripted({
      ...welcome,
      SIZE: '213 100',
      PASV: `227 (127,0,0,2,${elsewhere.port >> 8},${elsewhere.port & 255})`,
    });
    const job = await open('a.mp4', { port, login: '' });
    await ask(job.address('a'));
    // The connection went to the host of the commands, not to the named one, and that port belongs to another server.
    assert.ok(commands.includes('PASV'));
    assert.ok(elsewhere.connections <= 1);
    assert.equal(job.stats().failure?.code, 'origin-unreachable');
  });

  for (const [final, status] of [
    ['226 done', 200],
    ['426 broken off', 502],
  ] as const)
    it(`without a size, the server's last reply says whether that was all: ${final}`, async () => {
      const data = cleanup.add(await listen((socket) => void socket.end('some of it')));
      const EPSV = `229 (|||${data.port}|)`;
      const { port } = await scripted({ ...welcome, EPSV, RETR: `150 here\r\n${final}` });
      const job = await open('a.mp4', { port, login: '' });
      const reply = await ask(job.address('a'));
      const text = status === 200 ? 'some of it' : 'the host closed the connection after 10 B';
      assert.deepEqual([reply.status, reply.body.toString()], [status, text]);
      assert.equal(job.stats().failure?.reason, status === 200 ? undefined : 'closed');
    });

  it('a path cannot contain a second command', () => {
    assert.equal(ftpPath('/a/b%20c;type=i'), 'a/b c');
    assert.equal(ftpPath('/%2Fabsolute/x'), '/absolute/x');
    for (const bad of ['/a%0d%0aDELE%20x', '/a%00', '/', '/folder/'])
      assert.throws(() => ftpPath(bad), { code: 'source-invalid' }, bad);
  });
});
