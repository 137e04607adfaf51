import assert from 'node:assert/strict';
import { zstdCompressSync } from 'node:zlib';
import { inflate } from '../../src/result/inflate.ts';
import { makePaces } from '../../src/result/pace.ts';

const MB = 1_000_000;

/** A clock that the pauses move. */
function clock() {
  let at = 0;
  const pauses: number[] = [];
  return {
    pauses,
    pass: (ms: number) => void (at += ms),
    options: {
      bytesPerSecond: 10 * MB,
      burst: 20 * MB,
      now: () => at,
      pause: async (ms: number) => {
        pauses.push(ms);
        at += ms;
      },
    },
  };
}

describe('result: the pace of large results', () => {
  it('an account reads its burst at once, then so many bytes per second', async () => {
    const time = clock();
    const pace = makePaces(time.options)(1);
    for (let mb = 0; mb < 20; mb++) await pace(MB);
    assert.deepEqual(time.pauses, []);
    for (let mb = 0; mb < 10; mb++) await pace(MB);
    assert.equal(Math.round(time.pauses.reduce((sum, ms) => sum + ms, 0)), 1_000);
  });

  it('all readers of an account share its pace, and another account has its own', async () => {
    const time = clock();
    const paceOf = makePaces(time.options);
    await paceOf(1)(20 * MB);
    assert.equal(paceOf(2)(MB), undefined);
    await paceOf(1)(MB);
    assert.deepEqual(time.pauses, [100]);
  });

  it('an account that reads nothing has its burst again after a while, and no more', async () => {
    const time = clock();
    const pace = makePaces(time.options)(1);
    await pace(20 * MB);
    time.pass(60_000);
    assert.equal(pace(20 * MB), undefined);
    await pace(MB);
    assert.deepEqual(time.pauses, [100]);
  });

  it('an inflated body counts as what it inflates to', async () => {
    const counted: number[] = [];
    const packed = zstdCompressSync(Buffer.alloc(3 * MB, 'a'));
    const slices = Object.assign(() => [packed], {
      pace: (bytes: number) => {
        counted.push(bytes);
        return undefined;
      },
    });
    for await (const slice of inflate(slices)) assert.ok(slice.length > 0);
    assert.equal(
      counted.reduce((sum, bytes) => sum + bytes, 0),
      3 * MB,
    );
  });
});
