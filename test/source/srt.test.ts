import assert from 'node:assert/strict';
import { decryptPayload, keysOf, makeKeys, openKeys } from '../../src/source/protocols/srt/keys.ts';
import { PacketOrder } from '../../src/source/protocols/srt/order.ts';
import { readHandshake, readPacket, reversedWords, seqDistance } from '../../src/source/protocols/srt/packet.ts';
import { srtParameters } from '../../src/source/protocols/srt/call.ts';

describe('srt: packet order', () => {
  it('is restored, and a gap is reported once', () => {
    const order = new PacketOrder<number>(10);
    assert.deepEqual(order.add(10, 10), { ready: [10], lost: undefined });
    assert.deepEqual(order.add(13, 13), { ready: [], lost: { from: 11, to: 12 } });
    assert.deepEqual(order.add(14, 14), { ready: [], lost: undefined });
    assert.deepEqual(order.missing(), { from: 11, to: 12 });
    assert.deepEqual(order.add(12, 12), { ready: [], lost: undefined });
    assert.deepEqual(order.missing(), { from: 11, to: 11 });
    assert.deepEqual(order.add(11, 11), { ready: [11, 12, 13, 14], lost: undefined });
    assert.deepEqual([order.waits, order.missing(), order.next], [false, undefined, 15]);
    assert.deepEqual(order.add(12, 12).ready, [], 'what came already does not come again');
  });

  it('continues over the wrap-around of the sequence numbers', () => {
    const order = new PacketOrder<number>(0x7ffffffe);
    assert.deepEqual(
      [order.add(0x7ffffffe, 1), order.add(0, 3), order.add(0x7fffffff, 2)].map(({ ready }) => ready),
      [[1], [], [2, 3]],
    );
    assert.equal(seqDistance(0, 0x7fffffff), 1);
  });

  it('skips missing packets, and up to the number that a drop request names', () => {
    const order = new PacketOrder<number>(0);
    for (const seq of [2, 3, 6]) order.add(seq, seq);
    assert.deepEqual(order.skip(), [2, 3]);
    assert.deepEqual(order.skip(5), [6]);
    assert.deepEqual([order.next, order.skip(), order.skip(3)], [7, [], []]);
  });

  it('a drop request takes no longer for a large gap than for a small one', () => {
    const order = new PacketOrder<number>(0);
    const before = process.cpuUsage();
    for (let i = 0; i < 20_000; i++) {
      order.add((order.next + 8192) & 0x7fffffff, i);
      assert.deepEqual(order.skip((order.next + 8191) & 0x7fffffff), [i]);
    }
    const { user, system } = process.cpuUsage(before);
    // 164 million steps took 9 s and more. CPU time, so that other load does not matter.
    assert.ok(user + system < 3_000_000, `${(user + system) / 1000} ms of CPU`);
  }).timeout(60_000);

  it('dropped packets come out in order, over the wrap-around, few or many', () => {
    for (const count of [3, 300]) {
      const first = 0x7fffffff - Math.floor(count / 2);
      const order = new PacketOrder<number>(first);
      const seqs = Array.from({ length: count }, (_, i) => (first + 1 + 2 * i) & 0x7fffffff);
      for (const seq of seqs.toReversed()) order.add(seq, seq);
      assert.deepEqual(order.skip(seqs[1]), seqs.slice(0, 2));
      assert.deepEqual(order.skip(seqs.at(-1)), seqs.slice(2));
      assert.equal(order.waits, false);
    }
  });

  it('a number far outside the window restarts the order and holds nothing', () => {
    const order = new PacketOrder<number>(0);
    order.add(5, 5);
    assert.deepEqual(order.add(1_000_000, 1).ready, [1]);
    assert.equal(order.waits, false);
  });
});

describe('srt: keys', () => {
  for (const length of [16, 24, 32] as const) {
    it(`of ${length * 8} bits open with the passphrase alone`, async () => {
      const { keys, message } = await makeKeys(keysOf('a good passphrase'), length);
      const opened = await openKeys(keysOf('a good passphrase'), message);
      assert.deepEqual(opened?.byFlag, keys.byFlag);
      assert.equal(await openKeys(keysOf('another passphrase'), message), undefined);
      const text = Buffer.from('what is said');
      const secret = decryptPayload(keys, 1, 12_345, text)!;
      assert.ok(!secret.equals(text));
      // Counter mode is its own inverse.
      assert.ok(decryptPayload(opened!, 1, 12_345, secret)!.equals(text));
      assert.ok(!decryptPayload(opened!, 1, 12_346, secret)!.equals(text));
      assert.equal(decryptPayload(opened!, 2, 12_345, secret), undefined);
    });
  }

  it('a passphrase is derived once per salt, for at most eight salts', async () => {
    const keyOf = keysOf('a good passphrase');
    const salts = Array.from({ length: 20 }, (_, i) => Buffer.alloc(16, i));
    const first = salts.map((salt) => keyOf(salt, 16));
    assert.deepEqual(
      first.map((key) => key !== undefined),
      salts.map((_, i) => i < 8),
    );
    assert.deepEqual(
      salts.map((salt, i) => keyOf(salt, 16) === first[i]),
      salts.map(() => true),
    );
    const { message } = await makeKeys(keysOf('a good passphrase'), 16);
    assert.equal(await openKeys(keyOf, message), undefined, 'a ninth salt');
    await Promise.all(first);
  });

  it('truncated or unknown key messages give no keys', async () => {
    const { message } = await makeKeys(keysOf('a good passphrase'), 16);
    const odd = Buffer.from(message);
    odd[8] = 4;
    for (const bad of [Buffer.alloc(0), message.subarray(0, 40), odd])
      assert.equal(await openKeys(keysOf('a good passphrase'), bad), undefined);
  });
});

describe('srt: packets and addresses', () => {
  it('truncated packets and handshakes are ignored', () => {
    assert.equal(readPacket(Buffer.alloc(15)), undefined);
    assert.deepEqual(
      [readPacket(Buffer.alloc(2048))?.kind, readPacket(Buffer.alloc(2049))],
      ['data', undefined],
      'a datagram that is longer than any packet',
    );
    assert.equal(readHandshake(Buffer.alloc(47)), undefined);
    const long = Buffer.concat([Buffer.alloc(48), Buffer.from([0, 5, 0xff, 0xff, 1, 2])]);
    assert.deepEqual(
      readHandshake(long)?.extensions.map(({ type, body }) => [type, body.length]),
      [[5, 2]],
    );
  });

  it('a stream id is sent with the bytes of each word reversed', () => {
    assert.equal(reversedWords('abcdef').toString('latin1'), 'dcba\0\0fe');
  });

  const cases: [query: string, found: object][] = [
    ['', { latencyMs: 120 }],
    [
      '?streamid=read%3Alive&passphrase=abcdefghij',
      { streamId: 'read:live', passphrase: 'abcdefghij', latencyMs: 120 },
    ],
    ['?latency=200', { latencyMs: 200 }],
    ['?latency=200000', { latencyMs: 200 }],
    ['?latency=nonsense&pbkeylen=24', { latencyMs: 120, keyLength: 24 }],
    ['?latency=99999999999&pbkeylen=17', { latencyMs: 10_000 }],
  ];
  for (const [query, found] of cases)
    it(`reads the parameters of srt://host:1${query}`, () =>
      assert.deepEqual(srtParameters({ url: `srt://host:1${query}` }), found));
});
