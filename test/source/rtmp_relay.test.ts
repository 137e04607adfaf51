import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { encodeMessage } from '../../src/source/protocols/rtmp/chunks.ts';
import { until } from '../until.ts';
import { ask, type Reply } from './ask.ts';
import { listen } from './listen.ts';
import { Cleanup } from './origin.ts';

const cleanup = new Cleanup();
const greeting = Buffer.concat([Buffer.from([3]), Buffer.alloc(3072)]);
const frame = encodeMessage(5, 9, 1, Buffer.alloc(300, 1));
/** A message of a type that is not media. */
const other = encodeMessage(6, 99, 1, Buffer.alloc(50_000));

describe('rtmp: limits of a server', function () {
  this.timeout(60_000);
  afterEach(() => cleanup.run());

  async function open(serve: (socket: Socket) => void, maxBytes = 1e9): Promise<Job> {
    const server = cleanup.add(await listen(serve));
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], offlineMs: 50_000 }));
    return cleanup.add(
      proxy.open({
        source: parseSource(`rtmp://127.0.0.1:${server.port}/live/cam`),
        limits: { maxBytes },
        live: ['ffprobe'],
      }),
    );
  }
  const read = (job: Job): Promise<Reply> => ask(job.address('ffprobe'), { deadlineMs: 50_000 });

  it('all bytes of a session count, not only media', async () => {
    const talk = Buffer.concat([greeting, other, other, frame]);
    const job = await open((socket) => void socket.end(talk));
    assert.equal((await read(job)).status, 200);
    await until('all bytes are counted', () => job.stats().ioUsage >= talk.length);
    assert.equal(job.stats().ioUsage, talk.length);
  });

  for (const [what, first] of [
    ['before any media', Buffer.alloc(0)],
    ['after the first media', frame],
  ] as const) {
    it(`messages that are not media end at the limit of the request, ${what}`, async () => {
      const job = await open((socket) => {
        const more = (): void => {
          while (!socket.destroyed && socket.write(other));
        };
        socket.on('drain', more).write(Buffer.concat([greeting, first]));
        more();
      }, 1_000_000);
      await read(job);
      assert.deepEqual([job.stats().failure?.code, job.stats().failure?.reason], ['cut', 'limit']);
    });
  }

  it('a server that pings and reads no replies is disconnected before the replies fill the memory', async () => {
    const pings = Buffer.concat([Buffer.from('020000000000060400000000', 'hex'), Buffer.from([0, 6, 0, 0, 0, 1])]);
    const again = Buffer.concat(
      Array.from({ length: 10_000 }, () => Buffer.concat([Buffer.from([0xc2]), Buffer.from([0, 6, 0, 0, 0, 1])])),
    );
    const job = await open((socket) => {
      socket.pause();
      const more = (): void => {
        while (!socket.destroyed && socket.write(again));
      };
      socket.on('drain', more).write(Buffer.concat([greeting, pings]));
      more();
    });
    await read(job);
    assert.equal(job.stats().failure?.message, 'the host does not read its responses');
  });
});
