import assert from 'node:assert/strict';
import { JsonRefused, parseJson } from '../../../../src/service/api/http/input/bounded_json.ts';
import { random } from '../../../source/random.ts';

const parse = (text: string, bounds = { depth: 64, values: 10_000 }) => parseJson(text, { ...bounds, used: 0 });

function refusalOf(read: () => unknown): JsonRefused | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof JsonRefused) return error;
    throw error;
  }
}
const duplicateIn = (text: string): string | undefined => refusalOf(() => parse(text))?.repeated;

describe('bounds of JSON', () => {
  const nested = (depth: number, [open, close]: [string, string]) => `${open.repeat(depth)}1${close.repeat(depth)}`;
  for (const [what, text, refused] of [
    ['64 lists', nested(64, ['[', ']']), undefined],
    ['65 lists', nested(65, ['[', ']']), 'has more than 64 levels'],
    ['64 objects', nested(64, ['{"a":', '}']), undefined],
    ['65 objects', nested(65, ['{"a":', '}']), 'has more than 64 levels'],
    ['lists that are never closed', '['.repeat(900_000), 'has more than 64 levels'],
    ['brackets in a text', JSON.stringify('[{'.repeat(100)), undefined],
    ['a list of 9,999 values', JSON.stringify(Array(9_999).fill(1)), undefined],
    ['a list of 10,001 values', JSON.stringify(Array(10_001).fill(1)), 'has more than 10000 values'],
    ['5,000 members', JSON.stringify(Object.fromEntries(Array(5_000).fill(1).entries())), undefined],
    ['5,001 members', JSON.stringify(Object.fromEntries(Array(5_001).fill(1).entries())), 'has more than 10000 values'],
    ['commas in a text', JSON.stringify(','.repeat(20_000)), undefined],
    ['commas that are not JSON', ','.repeat(20_000), 'has more than 10000 values'],
  ] as const)
    it(`${what}: ${refused ?? 'accepted'}`, () => assert.equal(refusalOf(() => parse(text))?.message, refused));

  it('hold for several texts together that share a budget', () => {
    const budget = { depth: 64, values: 10, used: 0 };
    parseJson('[1,2,3,4]', budget);
    assert.throws(() => parseJson('[1,2,3,4,5,6,7]', budget), { message: 'has more than 10 values' });
  });

  for (const text of ['', '{', ']', '"', '"\\', '{"a', '{"a\\', '{"\\x":1}', '{"a":1,"a":}', '}}}{{{', '[1,]', 'nul'])
    it(`${JSON.stringify(text)} is a syntax error`, () => assert.throws(() => parse(text), SyntaxError));
});

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
