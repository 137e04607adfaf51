import assert from 'node:assert/strict';
import { PAGE_SIZE } from '../../src/source/file/cache.ts';
import {
  demandedRun,
  firstWindow,
  nextRun,
  OF_FILE,
  OF_PART,
  widened,
  widest,
  type Reading,
} from '../../src/source/file/read_ahead.ts';

const reading = (start: number, at: number, window = 20, pages = 1000, glance = OF_FILE.glance): Reading => ({
  start: start * PAGE_SIZE,
  at: at * PAGE_SIZE,
  end: pages * PAGE_SIZE,
  window,
  glance,
});
const have =
  (...pages: number[]) =>
  (page: number): boolean =>
    pages.includes(page);
const to = (count: number): number[] => Array.from({ length: count }, (_value, i) => i);

describe('read-ahead', () => {
  it('begins with four pages and grows to eight', () => {
    assert.deepEqual(demandedRun(reading(10, 10), have()), { first: 10, count: 4 });
    assert.deepEqual(demandedRun(reading(10, 16), have()), { first: 16, count: 6 });
    assert.deepEqual(demandedRun(reading(10, 90), have()), { first: 90, count: 8 });
  });
  it('stops at the end of the file and at cached pages', () => {
    assert.deepEqual(demandedRun(reading(998, 998), have()), { first: 998, count: 2 });
    assert.deepEqual(demandedRun(reading(10, 10), have(12)), { first: 10, count: 2 });
  });
  it('reads nothing ahead of a tool that has read a single page', () => {
    assert.equal(nextRun([reading(0, 1)], [], have(...to(4))), undefined);
    assert.equal(nextRun([reading(0, 4, 20, 1000, OF_PART.glance)], [], have(...to(8))), undefined);
  });
  it('reads a window ahead of a sequential reader, in requests worth a round trip', () => {
    assert.deepEqual(nextRun([reading(0, 2)], [], have(...to(4))), { first: 4, count: 4 });
    assert.equal(nextRun([reading(0, 2)], [], have(...to(20))), undefined, 'two pages are not worth one');
    assert.deepEqual(nextRun([reading(0, 4)], [], have(...to(20))), { first: 20, count: 4 });
    assert.deepEqual(nextRun([reading(0, 2, OF_FILE.window)], [], have(...to(8))), { first: 8, count: 8 });
    assert.equal(nextRun([reading(0, 9, OF_FILE.window)], [], have(...to(50))), undefined);
  });
  it('reads no more ahead than a small cache keeps', () => {
    assert.equal(nextRun([reading(0, 4)], [], have(...to(8)), 4), undefined);
    assert.deepEqual(nextRun([reading(0, 4)], [], have(...to(8)), 8), { first: 8, count: 4 });
    assert.equal(nextRun([reading(0, 4, 48)], [], have(...to(12)), 8), undefined);
  });
  it('reads the last pages of a file even if they are few', () => {
    assert.deepEqual(nextRun([reading(0, 4, 20, 10)], [], have(...to(9))), { first: 9, count: 1 });
  });
  it('starts with what the format needs', () => {
    assert.deepEqual(
      nextRun([reading(0, 4)], [{ from: 900 * PAGE_SIZE + 5, to: 900 * PAGE_SIZE + 10 }], have(...to(4))),
      { first: 900, count: 1 },
    );
    assert.deepEqual(nextRun([], [{ from: 5, to: PAGE_SIZE + 1 }], have(0)), { first: 1, count: 1 });
  });
  it('begins with what one connection brings in a round trip, if that is more, and with 16 MB at most', () => {
    assert.equal(firstWindow(20, 0), 20);
    assert.equal(firstWindow(20, 4 << 20), 64);
    assert.equal(firstWindow(20, 1e9) * PAGE_SIZE, 16 << 20);
  });
  it('widens it to twice what one connection brings in a round trip, and to 16 MB at most', () => {
    assert.equal(widest(4 << 20), 128);
    assert.equal(widened(48, widest(4 << 20)), 128);
    assert.equal(widest(1e9) * PAGE_SIZE, 16 << 20);
  });
  it('reads a wide window in six requests', () => {
    assert.deepEqual(nextRun([reading(0, 9, 120)], [], have(...to(9)), 120), { first: 9, count: 20 });
  });
  it('widens a window to three megabytes and no further', () => {
    assert.equal(widened(20, widest(0)), 48);
    assert.equal(widened(48, widest(0)) * PAGE_SIZE, 3 * 1024 * 1024);
  });
});
