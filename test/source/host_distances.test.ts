import assert from 'node:assert/strict';
import { HostDistances } from '../../src/source/http/pool.ts';

describe('distance of a host', () => {
  const table: [string, [tcpMs: number, tlsMs: number | undefined][], boolean][] = [
    ['near if it answers at once', [[1, 0]], false],
    ['far if a connection takes a round trip', [[40, 0]], true],
    ['far before TLS has begun', [[40, undefined]], true],
    ['far if only the handshake takes long: something on the way accepted the connection', [[1, 80]], true],
    ['near if the handshake takes as long as its computing', [[1, 15]], false],
    [
      'near if one connection was fast: the others waited for this process',
      [
        [40, 0],
        [1, 0],
        [30, 0],
      ],
      false,
    ],
  ];
  for (const [title, connections, isFar] of table)
    it(`is ${title}`, async () => {
      const distances = new HostDistances(5);
      for (const [tcpMs, tlsMs] of connections) distances.connected('a', tcpMs, tlsMs);
      assert.equal(await distances.isFar('a'), isFar);
    });

  it('is that of its fastest connection, and unknown before', () => {
    const distances = new HostDistances(5);
    assert.equal(distances.fastestMs('a'), Infinity);
    for (const ms of [40, 30, 50]) distances.connected('a', ms, 0);
    assert.equal(distances.fastestMs('a'), 30);
  });

  it('is told to those who asked before the first connection', async () => {
    const distances = new HostDistances(5);
    const asked = ['far', 'near', 'gone'].map((host) => distances.isFar(host));
    distances.connected('near', 1, undefined);
    distances.connected('near', 1, 1);
    distances.connected('far', 40, undefined);
    distances.failed('gone');
    assert.deepEqual(await Promise.all(asked), [true, false, false]);
  });

  it('is forgotten for the oldest of many hosts, and nobody waits for it', async () => {
    const distances = new HostDistances(5);
    const first = distances.isFar('first');
    for (let i = 0; i < 1000; i++) distances.connected(`${i}`, 40, 0);
    assert.equal(await first, false);
    assert.equal(await distances.isFar('999'), true);
  });
});
