import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { compareRuns, type ComparedRun } from '../../src/media/compare/compare.ts';
import { MOST_TEXT } from '../../src/media/compare/limits.ts';
import { ComparisonSchema } from '../../src/media/compare/schema.ts';
import { random } from '../source/random.ts';

const valid = new Ajv({ strict: false, allowUnionTypes: true }).compile(ComparisonSchema);
const told = (tool: 'ffprobe' | 'mediainfo', version: string, text: string): ComparedRun => ({
  tool,
  version,
  label: version,
  output: { bytes: Buffer.byteLength(text), text: () => text },
});

function check(...texts: string[]): ReturnType<typeof compareRuns> {
  const made = compareRuns(
    (['ffprobe', 'mediainfo'] as const).flatMap((tool) => texts.map((text, at) => told(tool, `${at + 1}.0`, text))),
  );
  const text = JSON.stringify(made);
  assert.ok(valid(JSON.parse(text)), JSON.stringify(valid.errors));
  assert.ok(Buffer.byteLength(JSON.stringify(text)) < MOST_TEXT + 16_384);
  return made;
}

const nested = (open: string, inner: string, close: string, depth: number) =>
  open.repeat(depth) + inner + close.repeat(depth);

const HOSTILE: [string, string, string][] = [
  ['lists nested 100,000 deep', nested('[', '1', ']', 100_000), nested('[', '2', ']', 100_000)],
  ['objects nested 50,000 deep', nested('{"a":', '1', '}', 50_000), nested('{"a":', '2', '}', 50_000)],
  ['a deep object against a text', nested('{"a":', '1', '}', 50_000), '{"a":"x"}'],
  ['__proto__ and constructor', '{"__proto__":{"a":1},"constructor":1}', '{"__proto__":{"a":2},"constructor":{}}'],
  ['streams named __proto__', '{"streams":[{"index":"__proto__"}]}', '{"streams":[{"index":"__proto__","a":1}]}'],
  ['a list of 300,000 numbers', `[${'1,'.repeat(300_000)}1]`, `[${'2,'.repeat(300_000)}2]`],
  ['300,000 new members', '{}', `{${Array.from({ length: 300_000 }, (_, n) => `"k${n}":1`).join()}}`],
  ['a stream 100,000 times', '{"streams":[]}', `{"streams":[${'{"index":0},'.repeat(100_000)}{"index":0}]}`],
  ['equal keys', '{"a":1,"a":2,"a":{"b":3}}', '{"a":{"b":4},"a":{"b":5}}'],
  ['numbers past every bound', '{"a":1e400,"b":-1e308}', '{"a":0,"b":1e-400}'],
  ['half characters', '{"\\ud800":"\\udfff"}', `{"\\ud800":"${'\\ud83d\\ude00'.repeat(300)}"}`],
  ['track that is no list', '{"media":{"track":{"@type":"Video"}}}', '{"media":{"track":[{"@type":1},null,"x"]}}'],
  ['scalars', '1', 'null'],
];

describe('comparison of hostile outputs', function () {
  this.timeout(60_000);
  for (const [what, before, after] of HOSTILE) it(what, () => void check(before, after));

  it('__proto__ is a field like any other', () => {
    const { fields } = compareRuns([
      told('ffprobe', '1.0', '{"__proto__":{"a":1}}'),
      told('ffprobe', '2.0', '{"__proto__":{"a":2}}'),
    ]);
    assert.deepEqual(
      fields.map(({ path, change }) => `${path} ${change}`),
      ['__proto__.a value'],
    );
    assert.equal(({} as Record<string, unknown>)['a'], undefined);
  });

  it('damaged outputs end in a comparison', () => {
    const base = JSON.stringify({
      streams: [
        {
          index: 0,
          codec_type: 'video',
          codec_name: 'h264',
          width: 2,
          tags: { language: 'eng' },
          side_data_list: [{}],
        },
        { index: 1, codec_type: 'audio', disposition: { default: 1 } },
      ],
      chapters: [{ id: 1 }],
      media: { track: [{ '@type': 'General', extra: { a: ['1'] } }, { '@type': 'Video' }] },
      format: { duration: '1.5', tags: {} },
    });
    const next = random(15);
    const throwDice = (sides: number) => Math.floor(next() * sides);
    const pieces = ['{}', '[]', 'null', '-1', '""', '"@type"', '{"index":[]}', '1e999', '"\\u0000"'];
    let compared = 0;
    const until = performance.now() + 5_000;
    for (let round = 0; round < 2_000 && performance.now() < until; round++) {
      const values = [...base.matchAll(/"[^"]*"|\d+|\{|\[/g)];
      const at = values[throwDice(values.length)]!;
      const piece = pieces[throwDice(pieces.length)]!;
      const changed = base.slice(0, at.index) + piece + base.slice(at.index + at[0].length);
      const { summary } = check(base, changed);
      if (summary.not_compared.length === 0) compared += 1;
    }
    assert.ok(compared > 100, `${compared} of them were valid JSON`);
  });
});
