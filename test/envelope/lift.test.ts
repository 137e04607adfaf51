import assert from 'node:assert/strict';
import { LiftError, lifter, memberNames, unescapeInPlace } from '../../src/envelope/lift.ts';

const TEXTS = ['', 'plain', 'é\u{1f3ac}', 'a"b\\c/d\b\f\n\r\t', '\u0001\u001f', '\ud83d', 'x'.repeat(50), '\\u0041', '"'.repeat(20), '{"a":"b\\"c"}'];

describe('lifting long strings out of JSON', () => {
  const lift = (bytes: Buffer, size: number, long: number) => {
    const one = lifter((index) => `<${index}>`, long);
    for (let at = 0; at < bytes.length; at += size) one.push(bytes.subarray(at, at + size));
    return one.end();
  };

  it('leaves the rest as it is, wherever the pieces are cut', () => {
    const value = { tools: TEXTS.map((output, index) => ({ index, output, list: [output, { [output]: null }] })), n: 1.5e3 };
    const bytes = Buffer.from(JSON.stringify(value));
    for (const size of [1, 2, 3, 7, 64, 10_000]) {
      assert.deepEqual(JSON.parse(lift(bytes, size, 1_000).text), value);
      const { text, strings } = lift(bytes, size, 8);
      assert.ok(strings.length > 5);
      const back = strings.reduce((so, { from, to }, index) => so.replace(`<${index}>`, () => bytes.toString('utf8', from, to)), text);
      assert.deepEqual(JSON.parse(back), value);
    }
  });
  it('refuses what ends inside a string, what holds control characters, and a rest that is too large', () => {
    assert.throws(() => lift(Buffer.from('{"a":"b'), 3, 8), LiftError);
    assert.throws(() => lift(Buffer.from('{"a":"b\\"'), 3, 8), LiftError);
    assert.throws(() => lift(Buffer.from('{"a":"b\nc"}'), 3, 8), LiftError);
    assert.throws(() => lift(Buffer.alloc(9 * 1024 * 1024, '['), 65_536, 8), LiftError);
  });

  for (const text of TEXTS) {
    it(`unescapes ${JSON.stringify(text).slice(0, 40)} in its place`, () => {
      const escaped = [JSON.stringify(text), JSON.stringify(text).replaceAll('/', '\\/'), `"${[...text].map((char) => [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')).join('')}"`];
      for (const one of escaped) assert.equal(unescapeInPlace(Buffer.from(one.slice(1, -1)))?.toString(), Buffer.from(text).toString());
    });
  }
  for (const text of ['\\x', '\\u12', '\\u12g4', 'a\\']) it(`takes ${text} for no text`, () => assert.equal(unescapeInPlace(Buffer.from(text)), null));

  for (const [json, names] of [
    ['{}', []], [' { "a" : 1 , "b":{"c":[1,{"d":2}]},"e":"x,\\"y\\":","é\\n":[ "q", "r" ] } ', ['a', 'b', 'e', 'é\n']], ['[{"a":1}]', null], ['"a"', null], ['1', null], ['{"a":{"x":1},"a":2}', ['a', 'a']],
  ] as const) it(`names the members of ${json}`, () => assert.deepEqual(memberNames(Buffer.from(json)), names));
});
