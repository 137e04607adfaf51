import assert from 'node:assert/strict';
import { readRanges } from '../../bench/ranges.ts';

describe('ranges of the benchmarks', () => {
  it('are a file that `make bench` can read, and each bound says where it lies', () => {
    const ranges = Object.entries(readRanges());
    assert.ok(ranges.length > 20);
    for (const [name, { bounds }] of ranges)
      for (const { atMost, atLeast } of bounds) assert.ok(atMost !== undefined || atLeast !== undefined, name);
  });
});
