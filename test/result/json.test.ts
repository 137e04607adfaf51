import assert from 'node:assert/strict';
import { isJson as isJsonText, JsonScanner } from '../../src/service/result/json_scanner.ts';
import type { JsonShape } from '../../src/platform/bus/result_body.ts';

const isJson = (text: string): boolean => isJsonText(Buffer.from(text));

const GOOD = [
  '{}',
  '[]',
  ' {"a": [1, 2.5e-3, -0, true, false, null, "x\\u00e9\\n\\"", {}]}\n',
  '"x"',
  '0',
  'null',
  '[[[]]]',
  '{"a":{"b":{}},"c":[]}',
  '"\u{1f3ac}"',
  '\t[\r\n]',
  '[1E+5,-0.0e-10,123,-45,10.25]',
];
const BAD = [
  '',
  ' ',
  '{',
  '}',
  '{]',
  '[}',
  '{"a"}',
  '{"a":}',
  '{a:1}',
  "{'a':1}",
  '{"a":1,}',
  '[1,]',
  '[,1]',
  '[1 2]',
  '01',
  '-01',
  '00',
  '1e',
  '1e+',
  '-.5',
  '1.e5',
  '1-2',
  '0x1',
  '1.2.3',
  'True',
  '1.',
  '.5',
  '+1',
  '-',
  'NaN',
  'nul',
  'truefalse',
  '"',
  '"a',
  '"\\x"',
  '"\\u12g4"',
  '"\\u12"',
  '"a\nb"',
  '{} {}',
  '{}x',
  '\ufeff{}',
  '[1',
  '{"a":1',
  '{"a":1 "b":2}',
  '{"a"::1}',
  '\u00a0{}',
  '[\u000b]',
];

function inSlices(text: string, size: number, wanted: readonly string[] = []): JsonShape | null {
  const scanner = new JsonScanner(wanted);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) scanner.push(bytes.subarray(at, at + size));
  return scanner.end();
}

const isScanned = (text: string): boolean => inSlices(text, 1_000_000) !== null;

describe('isJson', () => {
  for (const text of [...GOOD, ...BAD]) {
    const expected = GOOD.includes(text);
    it(`is ${expected} for ${JSON.stringify(text).slice(0, 60)}`, () => {
      assert.equal(isJson(text), expected);
      assert.equal(isScanned(text), expected);
    });
  }

  it('agrees with JSON.parse on 20,000 mutated texts', () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff;
      return seed % below;
    };
    const pieces = [...'{}[],:"\\0123456789.eE+- \n', 'true', 'null', '"a"', '\\u00e9', '{"a":1}', '[1]'];
    let valid = 0;
    for (let round = 0; round < 20_000; round++) {
      let text = GOOD[random(GOOD.length)] as string;
      for (let edit = random(4); edit > 0; edit--) {
        const at = random(text.length + 1);
        text = text.slice(0, at) + (pieces[random(pieces.length)] as string) + text.slice(at + random(2));
      }
      let expected = true;
      try {
        JSON.parse(text);
      } catch {
        expected = false;
      }
      if (expected) valid += 1;
      assert.equal(isScanned(text), expected, JSON.stringify(text));
      assert.equal(inSlices(text, 1 + random(3)) !== null, expected, JSON.stringify(text));
    }
    assert.ok(valid > 1000);
  });

  it('checks large and deeply nested texts', () => {
    const large = JSON.stringify(
      Array.from({ length: 50_000 }, (_, index) => ({ index, text: 'x'.repeat(20), list: [index / 3] })),
    );
    assert.equal(isJson(large), true);
    assert.equal(isJson(large.slice(0, -1)), false);
    assert.equal(isJson(large.replace('"index":49999', '"index":04999')), false);
    assert.equal(isScanned(`${'['.repeat(9_000)}${']'.repeat(9_000)}`), true);
    assert.equal(isScanned('['.repeat(1_000_000)), false);
  });

  it('bounds the depth of a short text as of a long one', () => {
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    for (const [text, expected] of [
      [nested(10_000), true],
      [nested(10_001), false],
      [nested(100_000), false],
    ] as const)
      assert.deepEqual([isJson(text), isScanned(text)], [expected, expected]);
  });

  it('bounds the length of a number, wherever it is and the slices are cut', () => {
    const longest = '1'.repeat(256 * 1024);
    for (const [number, expected] of [
      [longest.slice(0, 70_000), true],
      [longest, true],
      [`${longest}1`, false],
    ] as const) {
      assert.deepEqual([isJson(number), isJson(`[${number}]`)], [expected, expected]);
      for (const size of [1_000, 65_536, 1_000_000]) assert.equal(inSlices(number, size) !== null, expected);
    }
  });

  it('makes no string of a number, nor of a name where none is wanted', () => {
    const text = Buffer.from(JSON.stringify({ a: [7, -0.5, 1e-9, -2.5e300], '\n': 0 }));
    text.toString = () => assert.fail('a string was made');
    const scanner = new JsonScanner([]);
    scanner.push(text);
    assert.notEqual(scanner.end(), null);
  });
});

describe('scanner of JSON in slices', () => {
  const WANTED = ['c2pa', 'cli_output'];
  const TEXTS: [string, Record<string, string>, boolean][] = [
    ['{}', {}, true],
    [' {"a":{"c2pa":1},"b":["c2pa"]}\n', {}, false],
    ['{"c2pa" : {"x":[1,2]} , "cli_output":"a\\"}b"}', { c2pa: '{"x":[1,2]}', cli_output: '"a\\"}b"' }, false],
    ['{"c2pa":1,"c2pa":-2.5e3}', { c2pa: '-2.5e3' }, false],
    ['{"\\u0063\\u0032pa":null}', { c2pa: 'null' }, false],
    [`{"${'c'.repeat(200)}":1,"cli_output":2}`, { cli_output: '2' }, false],
  ];
  for (const [text, members, isEmpty] of TEXTS) {
    it(`finds the members of ${text.slice(0, 50)}, wherever the slices are cut`, () => {
      for (const size of [1, 2, 3, 7, 1_000]) {
        const facts = inSlices(text, size, WANTED)!;
        assert.deepEqual(
          Object.fromEntries(Object.entries(facts.members).map(([name, { from, to }]) => [name, text.slice(from, to)])),
          members,
        );
        assert.deepEqual(
          [facts.isObject, facts.isEmpty, `${text.slice(0, facts.close)}}${facts.tail}`],
          [true, isEmpty, text],
        );
      }
    });
  }
  it('distinguishes strings from other members, and objects from other values', () => {
    const { members } = inSlices('{"c2pa":"x","cli_output":{"y":"z"}}', 4, WANTED)!;
    assert.deepEqual([members['c2pa']?.isString, members['cli_output']?.isString], [true, false]);
    for (const text of ['[{"c2pa":1}]', '"c2pa"', '1', 'null'])
      assert.deepEqual([inSlices(text, 2, WANTED)?.isObject, inSlices(text, 2, WANTED)?.members], [false, {}]);
  });
});
