import assert from 'node:assert/strict';
import { parsePath, partOf, shorten, type Step, textOf, visible } from '../../../src/service/api/mcp/answer_text.ts';

const bytes = (value: unknown): number => Buffer.byteLength(visible(JSON.stringify(value)));

describe('paths into a result', () => {
  const VALUE = { a: [{ 'b.c': 1 }], 'x"y': { z: null } };
  for (const [text, steps, value] of [
    ['', [], VALUE],
    ['a[0]', ['a', 0], { 'b.c': 1 }],
    ['a[0]["b.c"]', ['a', 0, 'b.c'], 1],
    [String.raw`["x\"y"].z`, ['x"y', 'z'], null],
    ['a.0', ['a', '0'], { 'b.c': 1 }],
    ['a[', null, undefined],
    ['a[-1]', null, undefined],
    ['a..b', null, undefined],
    ['["a', null, undefined],
    ['a.'.repeat(60), null, undefined],
  ] as [string, Step[] | null, unknown][])
    it(JSON.stringify(text.slice(0, 20)), () => {
      const parsed = parsePath(text);
      assert.deepEqual(parsed, steps);
      if (parsed) assert.deepEqual(partOf(VALUE, parsed), { value });
    });

  it('finds nothing that the value does not have itself', () => {
    for (const path of ['__proto__', 'constructor.name', 'a.length', 'a[7]', 'x'])
      assert.ok('missing' in partOf(VALUE, parsePath(path)!), path);
  });
});

describe('shorten', function () {
  this.timeout(60_000);
  const VALUES: [string, unknown][] = [
    ['a long text', 'é"\u200b'.repeat(5_000)],
    ['a long list', Array.from({ length: 5_000 }, (_, index) => index)],
    ['a list of a long text', ['x'.repeat(50_000)]],
    ['many members', Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`name ${index}`, index]))],
    ['long names', { ['n'.repeat(50_000)]: 1, a: 2 }],
    ['nested parts', { a: { b: { c: 'x'.repeat(9_000), d: [1, { e: 'y'.repeat(9_000) }] } }, f: 1 }],
    ['unpaired surrogates', '\ud800'.repeat(9_000)],
  ];
  for (const [name, value] of VALUES)
    it(`${name} fits, and what was left out is named`, () => {
      for (const most of [500, 2_000, 8_000]) {
        const { value: short, leftOut } = shorten(value, most);
        assert.ok(bytes(short) <= most, `${bytes(short)} of ${most}`);
        assert.ok(leftOut.length > 0);
      }
    });

  it('leaves a value that fits as it is', () => {
    const value = { a: [1, 'x', null], b: { c: true } };
    assert.deepEqual(shorten(value, 1_000), { value, leftOut: [] });
  });

  it('keeps small members beside a large one', () => {
    const { value, leftOut } = shorten({ small: { a: 1 }, large: 'x'.repeat(9_000) }, 1_000);
    assert.deepEqual((value as { small: unknown }).small, { a: 1 });
    assert.deepEqual(
      leftOut.map(({ path }) => path),
      ['large'],
    );
  });

  it('does not go into what is nested very deeply', () => {
    let value: unknown = 1;
    for (let depth = 0; depth < 20_000; depth++) value = [value];
    const { value: short, leftOut } = shorten({ deep: value, a: 1 }, 1_000);
    assert.ok(bytes(short) <= 1_000);
    assert.equal(leftOut.length > 0, true);
  });

  it('an answer keeps its limit as it is sent', () => {
    for (const most of [2_000, 24_000, 100_000])
      for (const [name, data] of VALUES) {
        const sent = Buffer.byteLength(JSON.stringify(textOf({ lead: ['a'], data, more: 'b' }, most)));
        assert.ok(sent <= most, `${name}: ${sent} of ${most}`);
      }
  });
});
