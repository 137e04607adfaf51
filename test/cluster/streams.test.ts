import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeMedia } from '../streams/media.ts';
import { listenWithFfmpeg, missingPeer, startFtp, type Peer } from '../streams/peers.ts';
import { NAMESPACE, RUNNERS, cluster, type Answer, type Cluster } from './fixture.ts';

/** Sources with other protocols than HTTP, through the whole installation. */

const password = 'Geheim-wie-nie@4711';
const passphrase = 'correct-horse-4711';
const missing = (await missingPeer('ffmpeg')) ?? (await missingPeer('ftp'));

interface Tools {
  ffprobe: {
    success: boolean;
    error?: string;
    response: { format: { filename: string; format_name: string }; streams: { codec_name: string }[] };
  };
  mediainfo: {
    success: boolean;
    error?: string;
    response: { media: { '@ref': string; track: { '@type': string; Format: string }[] } };
  };
}

describe('streams and FTP', function () {
  this.timeout(120_000);
  let c: Cluster;
  let folder = '';
  let ftp: Peer;

  before(async function () {
    if (missing !== undefined) {
      console.log(`      skipped: ${missing}`);
      this.skip();
    }
    c = await cluster();
    folder = mkdtempSync(join(tmpdir(), 'probeyard-streams-'));
    makeMedia(folder);
    ftp = await startFtp(folder, 'user', password, { host: c.hostIp });
  });
  after(async () => {
    await ftp?.close();
    await c?.close();
    if (folder !== '') rmSync(folder, { recursive: true });
  });

  async function probe(kind: 'ftp' | 'rtmp' | 'srt'): Promise<{ url: string; answer: Answer }> {
    if (kind === 'ftp') {
      const url = `ftp://user:${encodeURIComponent(password)}@${c.hostIp}:${ftp.port}/a.mp4`;
      return { url, answer: await c.probe({ url }) };
    }
    const peer = await listenWithFfmpeg(kind, join(folder, kind === 'srt' ? 'a.ts' : 'a.mp4'), {
      host: c.hostIp,
      query: `&passphrase=${passphrase}`,
    });
    const url =
      kind === 'rtmp'
        ? `rtmp://${c.hostIp}:${peer.port}/live/stream?key=${password}`
        : `srt://${c.hostIp}:${peer.port}?passphrase=${passphrase}`;
    try {
      return { url, answer: await c.probe({ url }) };
    } finally {
      await peer.close();
    }
  }

  it("both tools read each source, no credential appears anywhere, and the caller's address is shown", async () => {
    const since = new Date().toISOString();
    for (const kind of ['ftp', 'rtmp', 'srt'] as const) {
      const { url, answer } = await probe(kind);
      assert.equal(answer.status, 200, `${kind}: ${answer.text}`);
      const { ffprobe, mediainfo } = answer.json as unknown as Tools;
      assert.ok(ffprobe.success && mediainfo.success, `${kind}: ${answer.text.slice(0, 2000)}`);
      const shown = url.replace(/\/\/[^/]*@/, '//').replace(/=[^&]*/g, '=REDACTED');
      assert.equal(ffprobe.response.format.filename, shown);
      assert.equal(mediainfo.response.media['@ref'], shown);
      assert.ok(ffprobe.response.streams.some(({ codec_name }) => codec_name === 'h264'));
      assert.ok(mediainfo.response.media.track.some(({ Format }) => Format === 'AVC'));
      assert.ok((answer.json.metadata?.io_usage ?? 0) > 10_000);
      assert.ok(
        !answer.text.includes(password) &&
          !answer.text.includes(encodeURIComponent(password)) &&
          !answer.text.includes(passphrase),
      );
    }
    const seen = await Promise.all([
      c.kubectl('get', 'probejobs', '-n', NAMESPACE, '-o', 'yaml'),
      c.kubectl('get', 'events', '-A', '-o', 'yaml'),
      ...['api', 'controller'].map((component) =>
        c.kubectl(
          'logs',
          '-n',
          NAMESPACE,
          '-l',
          `app.kubernetes.io/component=${component}`,
          '--tail=-1',
          `--since-time=${since}`,
        ),
      ),
      c.kubectl(
        'logs',
        '-n',
        RUNNERS,
        '-l',
        'app.kubernetes.io/component=runner',
        '--all-containers',
        '--tail=-1',
        '--ignore-errors',
        `--since-time=${since}`,
      ),
    ]);
    for (const text of seen)
      for (const secret of [password, encodeURIComponent(password), passphrase]) assert.ok(!text.includes(secret));
  });

  it('a missing stream is 404, an internal address is 400', async () => {
    const { status, json } = await c.probe({ url: `rtmp://${c.hostIp}:9/live/nothing`, only: 'ffprobe' });
    assert.equal(status, 404, JSON.stringify(json));
    for (const url of [
      'rtmp://127.0.0.1/live/x',
      'srt://169.254.169.254:9000',
      'rtsp://10.96.0.1/x',
      'ftp://localhost/x',
    ])
      assert.equal((await c.probe({ url })).status, 400, url);
  });
});
