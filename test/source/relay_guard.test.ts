import assert from 'node:assert/strict';
import { makeGuard } from '../../src/source/guard.ts';
import { passiveGuard } from '../../src/source/ftp/control.ts';
import { parseSource } from '../../src/source/parse.ts';
import { startProxy, type JobSource, type ProxyOptions } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { listen } from './listen.ts';
import { Cleanup } from './origin.ts';

/** What holds for every source that is no web address: the guard, silence, and what a tool is told. */

const cleanup = new Cleanup();
const live = ['ffprobe'];

async function open(url: string, options: ProxyOptions = {}): Promise<JobSource> {
  const proxy = cleanup.add(await startProxy(options));
  return cleanup.add(proxy.open({ source: parseSource(url), limits: { maxBytes: 1e9 }, live }));
}

describe('sources that are no web addresses', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  for (const scheme of ['ftp', 'rtmp', 'rtmps', 'rtsp', 'rtsps', 'srt']) {
    it(`${scheme}: an address that is not allowed is never connected to`, async () => {
      const peer = cleanup.add(await listen(() => {}));
      const job = await open(`${scheme}://127.0.0.1:${peer.port}/a/b.mp4`);
      // As a tool that reads files alone, so that RTSP is spoken here, too.
      const { status } = await ask(job.address('mediainfo'));
      assert.equal(status, 403);
      assert.equal(job.stats().failure?.code, 'refused');
      assert.equal(peer.connections, 0);
    });
  }

  it('the address of a tool holds no login, no query and no stream key', async () => {
    for (const url of ['rtmp://user:password@example.com/live/streamkey?sign=value', 'rtsp://user:password@example.com/cam?token=value', 'srt://example.com:9000?passphrase=verysecret&streamid=value', 'ftp://user:password@example.com/file.mp4']) {
      const job = await open(url);
      for (const tool of ['ffprobe', 'mediainfo']) {
        const address = job.address(tool);
        assert.match(address, /^(?:http|rtsp):\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/\w+\/(?:stream(?:\.\w+)?|file\.mp4)$/);
        assert.equal(job.redact(address), url.replace('user:password@', '').replace(/=[^&]*/g, '=REDACTED'), address);
      }
    }
  });

  it('a server that says nothing makes the stream offline', async () => {
    const peer = cleanup.add(await listen((socket) => {
      // A good RTMP greeting, and then nothing.
      socket.once('data', () => socket.write(Buffer.concat([Buffer.from([3]), Buffer.alloc(3072)])));
    }));
    const job = await open(`rtmp://127.0.0.1:${peer.port}/live/cam`, { allow: [{ cidr: '127.0.0.1/32' }], offlineMs: 300 });
    const { status, body } = await ask(job.address('ffprobe'));
    assert.deepEqual([status, body.toString()], [404, 'The stream is offline: the host sends nothing.']);
    assert.equal(job.stats().failure?.code, 'origin-unreachable');
  });

  it('a server of another protocol is told apart, whatever it says', async () => {
    const peer = cleanup.add(await listen((socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n<html>')));
    for (const scheme of ['rtmp', 'rtsp', 'ftp']) {
      const job = await open(`${scheme}://127.0.0.1:${peer.port}/live/cam`, { allow: [{ cidr: '127.0.0.1/32' }], idleTimeoutMs: 500, offlineMs: 500 });
      const { status } = await ask(job.address('mediainfo'));
      assert.ok(status >= 404 && status < 600, `${scheme}: ${status}`);
      assert.equal(job.stats().failure?.code, 'origin-unreachable', scheme);
    }
  });

  it('an FTP server can send the tool to no other host and to no privileged port', async () => {
    const guard = makeGuard({ allow: [{ cidr: '10.1.2.3/32', port: 21 }] });
    const passive = passiveGuard(guard, '10.1.2.3');
    assert.deepEqual([passive.check('10.1.2.3', 40_000), passive.check('10.1.2.3', 25), passive.check('10.1.2.4', 40_000), passive.check('10.1.2.3', 21)], ['ok', 'refused', 'refused', 'ok']);
    await assert.rejects(passive.resolveAndCheck('10.1.2.4', 40_000), { code: 'refused' });
  });
});
