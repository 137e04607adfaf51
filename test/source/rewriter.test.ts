import assert from 'node:assert/strict';
import { parseSource } from '../../src/source/address/parse.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { makeRewriter } from '../../src/source/playlist/rewriter.ts';
import { ask } from './ask.ts';
import { Cleanup, startOrigin } from './origin.ts';
import { filled } from './work.ts';

const cleanup = new Cleanup();
const place = { requested: 'http://host/m.mpd', final: 'http://host/m.mpd' };
const roots = { near: '../', full: 'http://127.0.0.1:1/' };
const manifest = (text: string) => ({ kind: 'dash' as const, bytes: Buffer.from(text), place, roots });
/** About 5 MB with 200,000 addresses, which take a usual machine more than a second. */
const heavy = `<MPD>${filled('<SegmentURL media="b.mp4?a=1"/>', 5 << 20)}</MPD>`;

describe('rewriting playlists', function () {
  this.timeout(60_000);
  afterEach(() => cleanup.run());

  it('a long playlist does not block the event loop, and is rewritten like a short one', async () => {
    const rewriter = cleanup.add(makeRewriter());
    const short = await rewriter.rewrite(manifest('<MPD><BaseURL>http://a/</BaseURL></MPD>'));
    let turns = 0;
    const [own, all] = [process.threadCpuUsage(), process.cpuUsage()];
    const turning = setInterval(() => turns++, 5);
    const long = await rewriter.rewrite(manifest(`<MPD><BaseURL>http://a/</BaseURL>${heavy}</MPD>`));
    clearInterval(turning);
    const sum = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;
    const [here, anywhere] = [sum(process.threadCpuUsage(own)), sum(process.cpuUsage(all))];
    assert.equal(Buffer.from(short.body).toString(), '<MPD><BaseURL>../x/http/a/</BaseURL></MPD>');
    assert.equal(Buffer.from(long.body).toString('utf8', 0, 39), '<MPD><BaseURL>../x/http/a/</BaseURL><MP');
    assert.ok(turns > 0 && here < anywhere / 2, `${here} of ${anywhere} ms of CPU in the loop's thread`);
  });

  it('a playlist that takes too long is an error, and the next one is served', async () => {
    const rewriter = cleanup.add(makeRewriter({ deadlineMs: 1 }));
    await assert.rejects(rewriter.rewrite(manifest(heavy)), {
      code: 'cut',
      reason: 'complex',
      message: 'the manifest is too complex',
    });
    const patient = cleanup.add(makeRewriter({ deadlineMs: 40_000 }));
    await Promise.all([patient.rewrite(manifest(heavy)), patient.rewrite(manifest(heavy))]);
  });

  it('refuses more than a few waiting playlists', async () => {
    const rewriter = cleanup.add(makeRewriter({ mostWaiting: 1 }));
    const results = await Promise.allSettled([1, 2, 3].map(() => rewriter.rewrite(manifest(heavy))));
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected'],
    );
  });

  it('reports the limits of the rewriter itself through the thread', async () => {
    const final = `http://host/${'p'.repeat(8000)}/`;
    const rewriter = cleanup.add(makeRewriter());
    await assert.rejects(
      rewriter.rewrite({
        ...manifest(`<MPD>${filled('<SegmentURL media="/"/>', 1 << 20)}`),
        place: { requested: final, final },
      }),
      { reason: 'limit', message: 'the playlist holds too many addresses' },
    );
  });

  it('the tool whose playlist took too long gets the reason', async () => {
    const origin = cleanup.add(
      await startOrigin(
        (_request, response) => void response.writeHead(200, { 'content-type': 'application/dash+xml' }).end(heavy),
      ),
    );
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], rewriter: { deadlineMs: 1 } }));
    const job = cleanup.add(
      proxy.open({ source: parseSource(`${origin.url}/m.mpd`), limits: { maxBytes: 1e9 }, live: ['ffprobe'] }),
    );
    const { status, body } = await ask(job.address('ffprobe'), { deadlineMs: 30_000 });
    assert.deepEqual([status, body.toString()], [502, 'the manifest is too complex']);
    assert.deepEqual(job.stats().failures['ffprobe'], {
      code: 'cut',
      cause: 'complex',
      reason: 'complex',
      message: 'the manifest is too complex',
    });
  });
});
