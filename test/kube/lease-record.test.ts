import assert from 'node:assert/strict';
import { recordOf, sight, takeableInMs, type LeaseRecord } from '../../src/kube/lease_record.ts';

const record = (changes: Partial<LeaseRecord> = {}): LeaseRecord => ({
  holder: 'a',
  epoch: 3,
  durationMs: 6000,
  renewTime: '1',
  resourceVersion: '10',
  ...changes,
});

describe('lease record', () => {
  it('is read from a Lease, even with fields missing', () => {
    assert.deepEqual(recordOf({ metadata: { name: 'l', resourceVersion: '7' } }), {
      holder: '',
      epoch: 0,
      durationMs: 0,
      renewTime: undefined,
      resourceVersion: '7',
    });
    assert.deepEqual(
      recordOf({
        metadata: { name: 'l', resourceVersion: '8' },
        spec: { holderIdentity: 'a', leaseDurationSeconds: 6, leaseTransitions: 2, renewTime: 'x' },
      }),
      { holder: 'a', epoch: 2, durationMs: 6000, renewTime: 'x', resourceVersion: '8' },
    );
  });

  const first = { record: record(), seenAt: 1000 };
  const sights: [string, LeaseRecord, number, string][] = [
    ['a renewal restarts the time', record({ renewTime: '2', resourceVersion: '11' }), 2000, '11'],
    ['another holder restarts the time', record({ holder: 'b', resourceVersion: '11' }), 2000, '11'],
    ['the same holder with a new epoch restarts the time', record({ epoch: 4, resourceVersion: '11' }), 2000, '11'],
    ['a label changes only the version', record({ resourceVersion: '11' }), 1000, '11'],
    ['the same record changes nothing', record(), 1000, '10'],
    ['an older record that arrives late is ignored', record({ renewTime: '0', resourceVersion: '9' }), 1000, '10'],
    ['versions are compared as numbers: 9 is older than 10', record({ holder: '', resourceVersion: '9' }), 1000, '10'],
  ];
  for (const [what, next, seenAt, version] of sights) {
    it(what, () => {
      const after = sight(first, next, 2000);
      assert.deepEqual([after.seenAt, after.record.resourceVersion], [seenAt, version]);
    });
  }

  const takes: [string, LeaseRecord, number, number][] = [
    ['no holder: now', record({ holder: '' }), 1000, 0],
    ['we hold it without leading, because a response was lost: now', record({ holder: 'me' }), 1000, 0],
    ['another holder, seen just now: after its full duration', record(), 1000, 6000],
    ['another holder, seen a while ago: after the rest of its duration', record(), 5000, 2000],
    ['expired: now', record(), 7000, 0],
    ['expired long ago: now', record(), 90_000, 0],
    ['a holder with a longer duration than ours: after its duration', record({ durationMs: 15_000 }), 7000, 9000],
    ['a holder with a shorter duration than ours: after our duration', record({ durationMs: 1000 }), 3000, 4000],
    ['a renewTime of any clock: ignored', record({ renewTime: '2099-01-01T00:00:00Z' }), 7000, 0],
  ];
  for (const [what, seen, now, wait] of takes) {
    it(`when a lease can be taken: ${what}`, () =>
      assert.equal(takeableInMs({ record: seen, seenAt: 1000 }, 'me', 6000, now), wait));
  }
});
