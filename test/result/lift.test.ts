import assert from 'node:assert/strict';
import { LiftError, lifter, unescaper } from '../../src/service/result/lift.ts';

const TEXTS = [
  '',
  'plain',
  'é\u{1f3ac}',
  'a"b\\c/d\b\f\n\r\t',
  '\u0001\u001f',
  '\ud83d',
  'x'.repeat(50),
  '\\u0041',
  '"'.repeat(20),
  '{"a":"b\\"c"}',
];

describe('lifting long strings out of JSON', () => {
  const lift = (bytes: Buffer, size: number, long: number) => {
    const one = lifter((index) => `<${index}>`, { long });
    for (let at = 0; at < bytes.length; at += size) one.push(bytes.subarray(at, at + size));
    return one.end();
  };

  it('leaves the rest unchanged, wherever the pieces are cut', () => {
    const value = {
      tools: TEXTS.map((output, index) => ({ index, output, list: [output, { [output]: null }] })),
      n: 1.5e3,
    };
    const bytes = Buffer.from(JSON.stringify(value));
    for (const size of [1, 2, 3, 7, 64, 10_000]) {
      assert.deepEqual(JSON.parse(lift(bytes, size, 1_000).text), value);
      const { text, strings } = lift(bytes, size, 8);
      assert.ok(strings.length > 5);
      const back = strings.reduce(
        (so, { from, to }, index) => so.replace(`<${index}>`, () => bytes.toString('utf8', from, to)),
        text,
      );
      assert.deepEqual(JSON.parse(back), value);
    }
  });
  it('refuses text that ends inside a string, control characters, and a rest over the limit', () => {
    assert.throws(() => lift(Buffer.from('{"a":"b'), 3, 8), LiftError);
    assert.throws(() => lift(Buffer.from('{"a":"b\\"'), 3, 8), LiftError);
    assert.throws(() => lift(Buffer.from('{"a":"b\nc"}'), 3, 8), LiftError);
    assert.throws(() => lift(Buffer.alloc(9 * 1024 * 1024, '['), 65_536, 8), LiftError);
  });

  for (const bad of ['\\x', '\\u12', '\\u12g4', '\\']) {
    it(`refuses the escape ${bad} in a string of any length`, () => {
      for (const text of [`{"a":"${bad}"}`, `{"a":"${'x'.repeat(20)}${bad}"}`])
        assert.throws(() => lift(Buffer.from(text), 3, 8), LiftError);
    });
  }
  it('passes each long string to its observer once, complete and in order', () => {
    const seen: string[][] = [];
    const one = lifter((index) => `<${index}>`, {
      long: 4,
      observe: (index) => {
        seen[index] = [];
        return { push: (bytes) => void seen[index]!.push(bytes.toString()), end: () => void seen[index]!.push('.') };
      },
    });
    for (const part of ['{"abcdef":"gh', 'ijk', 'l","m":"n', 'o"}']) one.push(Buffer.from(part));
    assert.deepEqual(
      seen.map((parts) => parts.join('')),
      ['abcdef.', 'ghijkl.'],
    );
    assert.equal(one.end().text, '{"<0>":"<1>","m":"no"}');
  });

  for (const text of TEXTS) {
    it(`unescapes ${JSON.stringify(text).slice(0, 40)}, wherever the slices are cut`, () => {
      const escaped = [
        JSON.stringify(text),
        JSON.stringify(text).replaceAll('/', '\\/'),
        `"${text
          .split('')
          .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join('')}"`,
      ];
      for (const one of escaped) {
        const bytes = Buffer.from(one.slice(1, -1));
        for (const size of [1, 2, 5, 1_000]) {
          const plain = unescaper();
          const out: Buffer[] = [];
          for (let at = 0; at < bytes.length; at += size)
            out.push(Buffer.from(plain.push(bytes.subarray(at, at + size))));
          assert.equal(Buffer.concat([...out, plain.end()]).toString(), Buffer.from(text).toString());
        }
      }
    });
  }
  for (const [what, escaped, text] of [
    ['a high surrogate before a character', '\\ud83dx', '\ufffdx'],
    ['two high surrogates', '\\ud83d\\ud83c\\udfac', '\ufffd\u{1f3ac}'],
    ['a low surrogate alone', '\\udfac', '\ufffd'],
    ['a high surrogate before an escape', '\\ud83d\\n', '\ufffd\n'],
    ['a high surrogate at the end', 'a\\uD83D', 'a\ufffd'],
  ] as const) {
    it(`unescapes ${what} as U+FFFD`, () => {
      const plain = unescaper();
      assert.equal(Buffer.concat([plain.push(Buffer.from(escaped)), plain.end()]).toString(), text);
    });
  }
});
