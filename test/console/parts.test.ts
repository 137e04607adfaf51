/** What the console decides without a browser. */
import assert from 'node:assert/strict';
import { queryPairs, targetOf } from '../../src/api_calls.ts';
import { queryOf } from '../../src/console/api/client.ts';
import { csv } from '../../src/console/parts/csv.ts';
import { joined, kilobits } from '../../src/console/parts/figures.ts';
import { visible } from '../../src/base/visible.ts';
import { addedUp, bucketsOf } from '../../src/console/views/usage_figures.ts';

describe('console: parts', () => {
  it('visible: shows control and direction characters as symbols, and leaves all else alone', () => {
    for (const [text, shown] of [
      ['film.mp4', 'film.mp4'],
      ['Füße 東京 עברית 👩‍🚀', 'Füße 東京 עברית 👩[U+200D]🚀'],
      ['a\u0000b\tc\nd\u007f', 'a[U+0000]b[U+0009]c[U+000A]d[U+007F]'],
      ['\u202egpj.exe\u202c', '[U+202E]gpj.exe[U+202C]'],
      ['\u2066x\u2069\u200e\u200f\u061c', '[U+2066]x[U+2069][U+200E][U+200F][U+061C]'],
      ['a\u200bb\ufeffc\u2028d', 'a[U+200B]b[U+FEFF]c[U+2028]d'],
      ['\u{e0041}\u0085', '[U+E0041][U+0085]'],
      ['\ud800x\udc00', '[U+D800]x[U+DC00]'],
    ] as const)
      assert.equal(visible(text), shown);
  });

  it('csv: quotes what needs it, and makes no formula of text', () => {
    assert.equal(
      csv([
        ['Sent', 'Address'],
        ['-3.5', 'a "b", c\nd'],
        ['=cmd|x', '@SUM(A1)'],
        ['+1', '-x'],
      ]),
      `Sent,Address\r\n-3.5,"a ""b"", c\nd"\r\n'=cmd|x,'@SUM(A1)\r\n'+1,'-x\r\n`,
    );
  });

  it('figures: what is not known is left out of a list, and bit rates are whole kilobits', () => {
    assert.equal(joined(', ', ['a', undefined, null, false, '', 'b']), 'a, b');
    assert.equal(joined(', ', []), '');
    assert.equal(kilobits(128_499), '128 kb/s');
  });

  it('calls: a query has nested names in brackets and lists by repetition, a path its parts', () => {
    const pairs = queryPairs({
      send: { from: '2026-11-01', to: null },
      status: ['error', 'success'],
      page: 0,
      a: undefined,
    });
    assert.deepEqual(pairs, [
      ['send[from]', '2026-11-01'],
      ['status', 'error'],
      ['status', 'success'],
      ['page', '0'],
    ]);
    assert.equal(queryOf({ url: '', page: 0 }), '?page=0');
    assert.equal(queryOf({ url: '' }), '');
    assert.deepEqual(targetOf('GET /v1/probe/:id', { id: 'a/b' }), { method: 'GET', path: '/v1/probe/a%2Fb' });
    assert.deepEqual(targetOf('GET user/:id', { id: 7 }), { method: 'GET', path: '/frontend/api/v1/user/7' });
  });

  it('usage: buckets of several answers are joined by user and time, in order', () => {
    const answer = (at: string, user: number, resources: Record<string, number>) => ({
      'users-usage': [{ 'user-id': user, 'aggregated-usage': [{ 'aggregation-time': at, resources }] }],
    });
    const buckets = bucketsOf(
      answer('2026-02', 1, { a: 1 }),
      answer('2026-01', 2, { a: 2 }),
      answer('2026-02', 1, { b: 3 }),
    );
    assert.deepEqual(buckets, [
      { at: '2026-01', user: 2, figures: { a: 2 } },
      { at: '2026-02', user: 1, figures: { a: 1, b: 3 } },
    ]);
    assert.deepEqual(addedUp(buckets), { a: 3, b: 3 });
  });
});
