import assert from 'node:assert/strict';
import { Distance } from '../../src/source/file/distance.ts';

describe('distance of an origin', () => {
  const table: [string, (distance: Distance) => void, boolean][] = [
    ['unknown before its first answer', () => {}, false],
    ['near if it answers at once', (distance) => distance.answered(1), true],
    ['far if it takes a round trip', (distance) => distance.answered(40), false],
    [
      'near if its fastest answer was: the others waited for a connection',
      (distance) => [40, 2, 30].forEach((ms) => distance.answered(ms)),
      true,
    ],
    [
      'near while the bytes come',
      (distance) => {
        distance.answered(1);
        distance.waited(8);
      },
      true,
    ],
    [
      'far for good once it sends slowly',
      (distance) => {
        distance.answered(1);
        distance.waited(11);
        distance.waited(1);
        distance.answered(1);
      },
      false,
    ],
  ];
  for (const [title, happens, isNear] of table)
    it(`is ${title}`, () => {
      const distance = new Distance(5);
      happens(distance);
      assert.equal(distance.isNear, isNear);
    });

  it('knows how much a connection brings in a round trip', () => {
    const distance = new Distance(5);
    assert.equal(distance.inFlight, 0);
    // The first answer waited for the connection.
    distance.answered(120);
    distance.answered(40);
    distance.received(1000, 41);
    assert.equal(distance.inFlight, 0, 'of a short body');
    distance.received(500_000, 540);
    assert.equal(distance.inFlight, 40_000);
    distance.received(500_000, 90);
    assert.equal(distance.inFlight, 130_000, 'a quarter of the way to 400,000');
    distance.received(500_000, 40);
    assert.ok(distance.inFlight < 5_000_000, 'what came at once had waited for this process');
  });

  it('takes the round trip from the connection, if that is faster than any answer', () => {
    const distance = new Distance(5);
    distance.connected(40);
    distance.answered(120);
    distance.transferred(500_000, 50);
    assert.equal(distance.inFlight, 400_000);
    distance.answered(30);
    assert.equal(distance.inFlight, 0, 'the rate was that of a slower answer');
    distance.received(500_000, 80);
    assert.equal(distance.inFlight, 300_000);
  });

  it('estimates anew what an earlier, slower answer made look fast', () => {
    const distance = new Distance(5);
    distance.answered(120);
    distance.received(500_000, 121);
    distance.answered(40);
    assert.equal(distance.inFlight, 0);
  });
});
