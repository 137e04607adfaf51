import assert from 'node:assert/strict';
import { duplicateIn } from '../../../../src/api/http/input/json.ts';
import { random } from '../../../source/random.ts';

describe('duplicate names in JSON', () => {
  for (const [text, expected] of [
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"a":{"b":1,"b":2}}', 'b'],
    ['[{"a":1},{"a":1,"c":{},"a":2}]', 'a'],
    ['{"a":[{"x":1},"x",1],"x":1,"a":2}', 'a'],
    ['{"":1,"":2}', ''],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"a\\"":1,"a\\"":2}', 'a"'],
    [' { "a" : "b" , "b" : "a" } ', undefined],
    ['{"a":{"a":{"a":1}}}', undefined],
    ['{"a":"a","b":["a","a"],"c":"\\\\\\"a\\":"}', undefined],
    ['[{"a":1},{"a":1}]', undefined],
    ['"a"', undefined],
    ['[]', undefined],
    ['{}', undefined],
    ['1', undefined],
  ] as const) {
    it(`in ${text}: ${expected === undefined ? 'none' : JSON.stringify(expected)}`, () =>
      assert.equal(duplicateIn(text), expected));
  }

  it('are never found in the output of JSON.stringify: 2,000 values, seed 7', () => {
    const next = random(7);
    const names = ['a', 'b', '"', '\\', '{', '}', ',', ':', '\u2028', 'é', ''];
    const value = (depth: number): unknown => {
      const kind = Math.floor(next() * (depth > 0 ? 5 : 3));
      const name = () => names[Math.floor(next() * names.length)]! + names[Math.floor(next() * names.length)]!;
      if (kind === 0) return next();
      if (kind === 1) return name();
      if (kind === 2) return null;
      if (kind === 3) return Array.from({ length: Math.floor(next() * 4) }, () => value(depth - 1));
      return Object.fromEntries(Array.from({ length: Math.floor(next() * 5) }, () => [name(), value(depth - 1)]));
    };
    for (let index = 0; index < 2_000; index++) {
      const text = JSON.stringify(value(4), null, index % 3);
      assert.equal(duplicateIn(text), undefined, text);
    }
  });
});
