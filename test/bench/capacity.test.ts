import assert from 'node:assert/strict';
import { capacity, scaledRate, type PartCost } from '../../bench/cluster/capacity.ts';

const part = (label: string, msPerJob: number, threadMs = msPerJob): PartCost => ({ label, msPerJob, threadMs });

describe('bench: the capacity of a machine', () => {
  const cases: [what: string, parts: PartCost[], cores: number, rate: number, bound: string][] = [
    ['few cores are the limit', [part('kube-apiserver', 20), part('controller, leading', 5)], 2, 80, '2 cores'],
    [
      'one event loop is the limit of many cores',
      [part('kube-apiserver', 20), part('controller, leading', 6, 5)],
      16,
      200,
      'the thread of controller, leading',
    ],
    [
      'the slower of two event loops is the limit',
      [part('controller, leading', 5), part('api', 16, 8)],
      16,
      125,
      'the thread of api',
    ],
    [
      'a thread of a program with many is no limit',
      [part('kube-apiserver', 40), part('agent', 8), part('controller, leading', 2)],
      16,
      320,
      '16 cores',
    ],
  ];
  for (const [what, parts, cores, rate, bound] of cases)
    it(what, () => assert.deepEqual(capacity(parts, cores), { rate, bound }));

  it('a rate is scaled by the time of the bare tool to a machine on which it takes 12 ms', () => {
    assert.equal(scaledRate(20, 24), 40);
    assert.equal(scaledRate(20, 12), 20);
  });
});
