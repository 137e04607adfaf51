import assert from 'node:assert/strict';
import {
  recordOf,
  sight,
  takeableInMs,
  TERMS_ANNOTATION,
  termsOf,
  withTerm,
  type LeaseRecord,
  type LeaseTerm,
} from '../../src/platform/kube/lease_record.ts';

const record = (changes: Partial<LeaseRecord> = {}): LeaseRecord => ({
  holder: 'a',
  epoch: 3,
  durationMs: 6000,
  renewTime: '1',
  resourceVersion: '10',
  terms: [],
  ...changes,
});

const term = (epoch: number): LeaseTerm => ({ pod: `c-${epoch}`, epoch, since: '2026-03-01T12:00:00.000Z' });
const annotated = (text: string) => ({ metadata: { name: 'l', annotations: { [TERMS_ANNOTATION]: text } } });

describe('terms of a lease', () => {
  it('the last ten are kept, the latest first', () => {
    let terms: LeaseTerm[] = [];
    for (let epoch = 1; epoch <= 12; epoch++)
      terms = termsOf({ metadata: { name: 'l', annotations: withTerm(terms, term(epoch)) } });
    assert.deepEqual(
      terms.map(({ epoch }) => epoch),
      [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
    );
    assert.deepEqual(terms[0], term(12));
  });

  it('an acquisition whose response was lost is not listed beside the one that repeats it', () => {
    const terms = termsOf({ metadata: { name: 'l', annotations: withTerm([term(5), term(4)], term(5)) } });
    assert.deepEqual(terms, [term(5), term(4)]);
  });

  it('ten with the longest names fit', () => {
    const long = (epoch: number): LeaseTerm => ({ ...term(epoch), pod: 'n'.repeat(253) });
    let terms: LeaseTerm[] = [];
    for (let epoch = 1; epoch <= 10; epoch++)
      terms = termsOf({ metadata: { name: 'l', annotations: withTerm(terms, long(epoch)) } });
    assert.equal(terms.length, 10);
  });

  const FOREIGN: [what: string, text: string, epochs: number[]][] = [
    ['no JSON', 'x', []],
    ['no list', '{"pod":"a"}', []],
    ['others in the list', JSON.stringify([1, null, {}, term(3)]), [3]],
    ['a name that is none of a pod', JSON.stringify([{ ...term(4), pod: '<img src=x>' }, term(3)]), [3]],
    ['a time that is none', JSON.stringify([{ ...term(4), since: '2026-99-01T12:00:00Z' }]), []],
    ['an epoch that is none', JSON.stringify([{ ...term(4), epoch: '4' }]), []],
    ['a long text', JSON.stringify(Array.from({ length: 1_000 }, (_, index) => term(index + 1))), []],
  ];
  for (const [what, text, epochs] of FOREIGN)
    it(`what others wrote there is left out: ${what}`, () => {
      assert.deepEqual(
        termsOf(annotated(text)).map(({ epoch }) => epoch),
        epochs,
      );
    });
});

describe('lease record', () => {
  it('is read from a Lease, even with fields missing', () => {
    assert.deepEqual(recordOf({ metadata: { name: 'l', resourceVersion: '7' } }), {
      holder: '',
      epoch: 0,
      durationMs: 0,
      renewTime: undefined,
      resourceVersion: '7',
      terms: [],
    });
    assert.deepEqual(
      recordOf({
        metadata: { name: 'l', resourceVersion: '8' },
        spec: { holderIdentity: 'a', leaseDurationSeconds: 6, leaseTransitions: 2, renewTime: 'x' },
      }),
      { holder: 'a', epoch: 2, durationMs: 6000, renewTime: 'x', resourceVersion: '8', terms: [] },
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
