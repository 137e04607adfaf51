import assert from 'node:assert/strict';
import { BEATS, CONNECTIONS, makeRates, RESULTS } from '../../src/platform/bus/rates.ts';

describe('bus: rate limits of a runner', () => {
  const rate = { perSecond: 10, burst: 3, mostRefused: 2 };
  const verdicts = (rates: ReturnType<typeof makeRates>, uid: string, times: number[]) =>
    times.map((time) => rates.take(uid, time));

  it('allows the burst, then what the rate refills', () => {
    assert.deepEqual(verdicts(makeRates(rate), 'a', [0, 0, 0, 0, 100, 100]), [
      'taken',
      'taken',
      'taken',
      'refused',
      'taken',
      'flood',
    ]);
  });

  it('reports a flood once, until the pod was quiet', () => {
    const rates = makeRates(rate);
    assert.deepEqual(verdicts(rates, 'a', [0, 0, 0, 0, 0, 0, 0]).slice(3), ['refused', 'flood', 'refused', 'refused']);
    assert.deepEqual(verdicts(rates, 'a', [1_000, 1_000, 1_000, 1_000, 1_000]), [
      'taken',
      'taken',
      'taken',
      'refused',
      'flood',
    ]);
  });

  it('reports a flood that goes on every ten seconds, because the end of its pod may have failed', () => {
    const rates = makeRates(rate);
    const times = Array.from({ length: 2_500 }, (_, at) => at * 10);
    const floods = verdicts(rates, 'a', times).flatMap((verdict, at) => (verdict === 'flood' ? [times[at]!] : []));
    assert.deepEqual(
      floods.map((time) => time - floods[0]!),
      [0, 10_000, 20_000],
    );
  });

  it('counts each pod separately', () => {
    const rates = makeRates(rate);
    verdicts(rates, 'a', [0, 0, 0, 0]);
    assert.equal(rates.take('b', 0), 'taken');
  });

  it('never refuses the shortest jobs, nor the backlog after 20 s without a leader', () => {
    const rates = makeRates(BEATS);
    const times = Array.from({ length: 10_000 }, (_, at) => at * 40);
    assert.ok(verdicts(rates, 'busy', times).every((verdict) => verdict === 'taken'));
    assert.ok(
      verdicts(
        rates,
        'late',
        Array.from({ length: 200 }, () => 0),
      ).every((verdict) => verdict === 'taken'),
    );
  });

  it('never refuses the results of chunks, one after the other', () => {
    const times = Array.from({ length: 2_000 }, (_, at) => at * 25);
    assert.ok(verdicts(makeRates(RESULTS), 'busy', times).every((verdict) => verdict === 'taken'));
  });

  it('never refuses a runner whose connections are lost as soon as it has them', () => {
    const times = Array.from({ length: 2_000 }, (_, at) => at * 600);
    assert.ok(verdicts(makeRates(CONNECTIONS), 'lost', times).every((verdict) => verdict === 'taken'));
  });

  it('forgets deleted pods', () => {
    const rates = makeRates(rate);
    for (let pod = 0; pod < 20_000; pod++) rates.take(`pod-${pod}`, pod * 1_000);
    assert.ok(rates.size <= 1_024, String(rates.size));
  });
});
