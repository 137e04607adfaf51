import assert from 'node:assert/strict';
import { isBeatOf, isUse } from '../../src/platform/bus/claims.ts';

describe('heartbeats', () => {
  it('may have members that this version does not know', () => {
    const figures = { protocol: 1, epoch: 1, jobsDone: 0, ageMs: 1, idleMs: 1 };
    const beat = { uid: 'u', phase: 'prepared', pool: 'short', generation: 'g', ...figures };
    assert.ok(isBeatOf('py.hb.u', { ...beat, early: true }));
    assert.ok(isBeatOf('py.hb.u', { ...beat, progress: 100 }));
    for (const progress of [-1, 0.5, 101, '1', null]) assert.ok(!isBeatOf('py.hb.u', { ...beat, progress }));
  });
});

describe('what a runner says that a cancelled job has cost', () => {
  it('is a number of bytes and of milliseconds that can be recorded', () => {
    assert.ok(isUse({ bytes: 0, ms: 0 }));
    assert.ok(isUse({ bytes: 1e15, ms: 86_400_000, decodedSeconds: 1e9 }));
  });
  for (const used of [undefined, null, 1, {}, { bytes: 1 }, { bytes: -1, ms: 0 }, { bytes: 0.5, ms: 0 }])
    it(`is not ${JSON.stringify(used)}`, () => assert.equal(isUse(used), false));
  for (const used of [
    { bytes: 1e15 + 1, ms: 0 },
    { bytes: 0, ms: 86_400_001 },
    { bytes: '1', ms: 0 },
    { bytes: NaN, ms: 0 },
    { bytes: 0, ms: 0, decodedSeconds: 1e9 + 1 },
  ])
    it(`is not ${JSON.stringify(used)}, which cannot be true`, () => assert.equal(isUse(used), false));
});
