import assert from 'node:assert/strict';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy, type ProxyOptions } from '../../src/source/proxy.ts';
import type { Lookup } from '../../src/source/address/resolver.ts';
import { ask } from './ask.ts';
import { askRtsp } from './ask_rtsp.ts';
import { listen } from './listen.ts';
import { Cleanup } from './origin.ts';

/** Applies to every source that is not an HTTP address: the guard, silence, and the errors for a tool. */

const cleanup = new Cleanup();
const live = ['ffprobe'];

async function open(url: string, options: ProxyOptions = {}): Promise<Job> {
  const proxy = cleanup.add(await startProxy(options));
  return cleanup.add(proxy.open({ source: parseSource(url), limits: { maxBytes: 1e9 }, live }));
}

describe('sources with other protocols than HTTP', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  for (const scheme of ['ftp', 'rtmp', 'rtmps', 'rtsp', 'rtsps', 'srt']) {
    it(`${scheme}: never connects to an address that is not allowed`, async () => {
      const peer = cleanup.add(await listen(() => {}));
      const job = await open(`${scheme}://127.0.0.1:${peer.port}/a/b.mp4`);
      if (scheme.startsWith('rtsp'))
        assert.equal((await askRtsp(job.address('ffprobe'), 'DESCRIBE'))?.start, 'RTSP/1.0 403 Forbidden');
      else assert.equal((await ask(job.address('mediainfo'))).status, 403);
      assert.equal(job.stats().failure?.code, 'refused');
      assert.equal(peer.connections, 0);
    });
  }

  it('the address for a tool has no credentials, query or stream key', async () => {
    for (const url of [
      'rtmp://user:password@example.com/live/streamkey?sign=value',
      'rtsp://user:password@example.com/cam?token=value',
      'srt://example.com:9000?passphrase=verysecret&streamid=value',
      'ftp://user:password@example.com/file.mp4',
    ]) {
      const job = await open(url);
      for (const tool of ['ffprobe', 'mediainfo']) {
        const address = job.address(tool);
        assert.match(
          address,
          /^(?:http|rtsp):\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/\w+\/(?:stream(?:\.\w+)?|file\.mp4)$/,
        );
        assert.equal(job.redact(address), url.replace('user:password@', '').replace(/=[^&]*/g, '=REDACTED'), address);
      }
    }
  });

  it('a silent server makes the stream offline', async () => {
    const peer = cleanup.add(
      await listen((socket) => {
        // A valid RTMP handshake, and then nothing.
        socket.once('data', () => socket.write(Buffer.concat([Buffer.from([3]), Buffer.alloc(3072)])));
      }),
    );
    const job = await open(`rtmp://127.0.0.1:${peer.port}/live/cam`, {
      allow: [{ cidr: '127.0.0.1/32' }],
      offlineMs: 300,
    });
    const { status, body } = await ask(job.address('ffprobe'));
    assert.deepEqual([status, body.toString()], [404, 'the stream is offline: the host sends nothing']);
    assert.equal(job.stats().failure?.code, 'origin-unreachable');
  });

  it('a server of another protocol is recognised', async () => {
    const peer = cleanup.add(await listen((socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n<html>')));
    for (const scheme of ['rtmp', 'rtsp', 'ftp']) {
      const job = await open(`${scheme}://127.0.0.1:${peer.port}/live/cam`, {
        allow: [{ cidr: '127.0.0.1/32' }],
        idleTimeoutMs: 500,
        offlineMs: 500,
      });
      if (scheme === 'rtsp') await askRtsp(job.address('ffprobe'), 'DESCRIBE');
      else {
        const { status } = await ask(job.address('mediainfo'));
        assert.ok(status >= 404 && status < 600, `${scheme}: ${status}`);
      }
      assert.equal(job.stats().failure?.code, 'origin-unreachable', scheme);
    }
  });

  /** An FTP server that names the port of another service on its machine for the file. */
  const ftpNaming = (port: number) =>
    listen((socket) => {
      const replies: Record<string, string> = {
        USER: '230 in',
        TYPE: '200 ok',
        SIZE: '213 100',
        MDTM: '500 no',
        EPSV: `229 ok (|||${port}|)`,
      };
      socket.write('220 ready\r\n');
      socket.on('data', (bytes) => {
        for (const line of bytes
          .toString()
          .split('\r\n')
          .filter((text) => text !== ''))
          socket.write(`${replies[line.split(' ')[0]!] ?? '425 no'}\r\n`);
      });
    });

  it('ftp: an exception for the command port opens no other port of the host', async () => {
    const service = cleanup.add(await listen((socket) => void socket.end('secret')));
    const liar = cleanup.add(await ftpNaming(service.port));
    const url = `ftp://127.0.0.1:${liar.port}/a.mp4`;
    const job = await open(url, { allow: [{ cidr: '127.0.0.1/32', port: liar.port }] });
    assert.equal((await ask(job.address('mediainfo'))).status, 403);
    assert.deepEqual(
      [job.stats().failure?.code, job.stats().failure?.message],
      ['refused', `the FTP server names data port ${service.port}, which is not allowed on this host`],
    );
    assert.equal(service.connections, 0);
    const both = await open(url, { allow: [liar.port, service.port].map((port) => ({ cidr: '127.0.0.1/32', port })) });
    await ask(both.address('mediainfo'));
    assert.ok(service.connections > 0, 'an exception of its own opens the data port');
  });

  it('ftp: files come from the address of the commands, even if the name resolves differently later', async () => {
    const service = cleanup.add(await listen((socket) => void socket.end('secret')));
    const server = cleanup.add(await ftpNaming(service.port));
    let asked = 0;
    const lookup: Lookup = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
    const job = await open(`ftp://rebind.example:${server.port}/a.mp4`, { allow: [{ cidr: '127.0.0.0/8' }], lookup });
    await ask(job.address('mediainfo'));
    assert.ok(service.connections > 0);
    assert.equal(asked, 1);
  });
});
