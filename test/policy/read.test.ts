import assert from 'node:assert/strict';
import { PolicyError } from '../../src/media/policy/error.ts';
import { evaluate } from '../../src/media/policy/evaluate.ts';
import { CONTAINER_FIELDS, STREAM_FIELDS } from '../../src/media/policy/fields.ts';
import { globOf } from '../../src/media/policy/glob.ts';
import { MOST_STEPS } from '../../src/media/policy/limits.ts';
import { readPolicy, readPolicyText } from '../../src/media/policy/read.ts';
import { Meter } from '../../src/media/policy/run.ts';
import { ProbeReportSchema } from '../../src/media/report/schema.ts';
import { facts, video } from './report_of.ts';

const refused = (make: () => unknown): [string, string] => {
  try {
    make();
  } catch (error) {
    assert.ok(error instanceof PolicyError, `${(error as Error).name}: ${(error as Error).message}`);
    assert.equal(error.code, 'policy-invalid');
    return [error.path, error.message];
  }
  return assert.fail('it was accepted');
};
const rule = (members: object): unknown => ({ rules: [{ name: 'r', ...members }] });
const video0 = { field: 'video[0].codec.name' };
const nested = (depth: number): object => (depth === 0 ? { count: 'video', is: 1 } : { all: [nested(depth - 1)] });

/** What is refused, and where and how that is said. */
const TABLE: readonly [unknown, string, RegExp][] = [
  [null, '', /^must be an object with rules$/],
  [undefined, '', /^must be an object with rules$/],
  [[], '', /^must be an object with rules$/],
  [{ rules: [] }, 'rules', /^must not be empty$/],
  [{ rules: {} }, 'rules', /^must be a list$/],
  [{ rule: [] }, 'rule', /^"rule" is not a member of a policy; did you mean rules\?/],
  [
    { rules: Array.from({ length: 201 }, (_, at) => ({ name: `r${at}`, count: 'video', is: 1 })) },
    'rules',
    /at most 200/,
  ],
  [{ rules: [{ name: 'r', count: 'video', is: 1 }], description: 'x'.repeat(501) }, 'description', /at most 500/],
  [{ rules: [{ name: 'r', count: 'video', is: 1 }], uses: { ffmpeg: '7' } }, 'uses.ffmpeg', /\(known: .*ffprobe/],
  [
    { rules: [{ name: 'r', count: 'video', is: 1 }], uses: { ffprobe: 7 } },
    'uses.ffprobe',
    /^must be a version as text/,
  ],
  [
    {
      rules: [
        { name: 'r', count: 'video', is: 1 },
        { name: 'r', count: 'audio', is: 1 },
      ],
    },
    'rules[1].name',
    /^is the name of rules\[0\] already$/,
  ],
  [{ rules: [7] }, 'rules[0]', /^must be an object$/],
  [{ rules: [{ count: 'video', is: 1 }] }, 'rules[0].name', /^must be 1 to 100 letters/],
  [rule({}), 'rules[0]', /^needs one of field, tool, count/],
  [rule({ field: 'container.format', count: 'video' }), 'rules[0]', /^has field and count: one of them is accepted/],
  [rule({ field: 'container.format' }), 'rules[0]', /^needs an operator: is, not, in/],
  [
    rule({ field: 'container.fromat', is: 'mov' }),
    'rules[0].field',
    /^"fromat" is not a field of the container; did you mean format\?/,
  ],
  [
    rule({ each: 'video', field: 'size.widht', is: 1 }),
    'rules[0].field',
    /^"size.widht" is not a field of video streams; did you mean size.width\?/,
  ],
  [rule({ each: 'video', field: 'channels', is: 1 }), 'rules[0].field', /^"channels" is not a field of video streams/],
  [rule({ field: 'audio[0].frame_rate', is: 25 }), 'rules[0].field', /^"frame_rate" is not a field of audio streams/],
  [
    rule({ field: 'adio[0].channels', is: 1 }),
    'rules[0].field',
    /^"adio" is not a type of stream; did you mean audio\?/,
  ],
  [rule({ field: 'channels', is: 1 }), 'rules[0].field', /add "each: audio", or write "audio\[0\].channels"$/],
  [
    rule({ field: 'format', is: 'mov' }),
    'rules[0].field',
    /^"format" is a field of the container: write "container.format"$/,
  ],
  [rule({ field: '__proto__', is: 'mov' }), 'rules[0].field', /is not a field/],
  [rule({ each: 'video', field: 'constructor', is: 'mov' }), 'rules[0].field', /is not a field of video streams/],
  [rule({ ...video0, iss: 'h264' }), 'rules[0].iss', /^"iss" is not a member of a rule; did you mean is\?/],
  [rule({ ...video0, path: 'x' }), 'rules[0].path', /^is not accepted beside field/],
  [rule({ ...video0, is: 3 }), 'rules[0].is', /^"3" is not accepted here; accepted: the name of a codec/],
  [rule({ ...video0, 'at-least': 'h264' }), 'rules[0].at-least', /^at-least compares numbers, and this is a codec$/],
  [rule({ ...video0, in: [] }), 'rules[0].in', /^must not be empty$/],
  [rule({ ...video0, in: 'h264' }), 'rules[0].in', /^must be a list$/],
  [rule({ ...video0, in: ['h264', null] }), 'rules[0].in[1]', /is not accepted here/],
  [rule({ ...video0, in: Array.from({ length: 101 }, () => 'h264') }), 'rules[0].in', /^must have at most 100 values$/],
  [rule({ ...video0, is: 'x'.repeat(501) }), 'rules[0].is', /at most 500 characters/],
  [rule({ ...video0, matches: '*'.repeat(101) }), 'rules[0].matches', /at most 100 characters/],
  [rule({ ...video0, exists: 'yes' }), 'rules[0].exists', /^must be true or false$/],
  [rule({ ...video0, exists: true, absent: true }), 'rules[0].absent', /^contradicts exists$/],
  [rule({ ...video0, absent: true, is: 'h264' }), 'rules[0]', /cannot satisfy another operator/],
  [rule({ ...video0, is: { field: 'video[0].size.width' } }), 'rules[0].is.field', /is a number, and this is a codec$/],
  [rule({ ...video0, is: { path: 'x' } }), 'rules[0].is.path', /^is unknown; known: field$/],
  [rule({ ...video0, confidence: 0.9 }), 'rules[0].confidence', /^must be \{at-least: N\}/],
  [rule({ field: 'video[0].scan_type', is: 'progresive' }), 'rules[0].is', /accepted: progressive, interlaced$/],
  [rule({ field: 'container.size', 'at-most': '5 Mbit/s' }), 'rules[0].at-most', /accepted: a number of bytes/],
  [rule({ field: 'container.duration', between: [5, 1] }), 'rules[0].between', /the lower one first$/],
  [
    rule({ field: 'container.duration', within: { value: 5, tolerance: 'x' } }),
    'rules[0].within.tolerance',
    /or "2 frames"$/,
  ],
  [rule({ field: 'video[0].bitrate.maximum', within: 5 }), 'rules[0].within', /give \{value, tolerance\}$/],
  [rule({ each: 'vidio', field: 'codec.name', is: 'h264' }), 'rules[0].each', /did you mean video\?/],
  [rule({ each: 'video', count: 'video', is: 1 }), 'rules[0].each', /^count is not a matter of streams$/],
  [
    rule({ each: 'video', tool: 'ffprobe', path: 'streams[0].level', is: 1 }),
    'rules[0].each',
    /^a raw path selects its own elements/,
  ],
  [rule({ ...video0, match: 'any', is: 'h264' }), 'rules[0].match', /^needs each, or a raw path$/],
  [rule({ each: 'video', match: 'most', field: 'codec.name', is: 'h264' }), 'rules[0].match', /^must be every, any/],
  [
    rule({ each: 'video', match: { exactly: 1.5 }, field: 'codec.name', is: 'h264' }),
    'rules[0].match',
    /^must be every, any/,
  ],
  [rule({ count: 'video' }), 'rules[0]', /^needs an operator: is, at-least/],
  [rule({ count: 'video', is: 1, level: 'error' }), 'rules[0].level', /accepted: fail, warn$/],
  [rule({ tool: 'exiftool', path: 'x', is: 1 }), 'rules[0].tool', /is not a tool whose output can be read/],
  [rule({ tool: 'ffprobe', path: 'stream[0].level', is: 1 }), 'rules[0].path', /did you mean streams\?/],
  [rule({ tool: 'ffprobe', path: 'streams[', is: 1 }), 'rules[0].path', /^"streams\[" is not a path: invalid at "\["/],
  [rule({ tool: 'ffprobe', path: 'streams..level', is: 1 }), 'rules[0].path', /is not a path/],
  [
    rule({ tool: 'ffprobe', path: `streams${'.a'.repeat(20)}`, is: 1 }),
    'rules[0].path',
    /^must have at most 16 steps$/,
  ],
  [rule({ tool: 'ffprobe', path: 'streams[0].level' }), 'rules[0]', /^needs an operator/],
  [rule({ findings: {} }), 'rules[0].findings', /^must be an object of must-fix/],
  [rule({ findings: { 'must-fix': '0' } }), 'rules[0].findings.must-fix', /^must be a number, or/],
  [rule({ findings: { must: 0 } }), 'rules[0].findings.must', /^is unknown; known: must-fix/],
  [rule({ warnings: { of: [] } }), 'rules[0].warnings.of', /^must not be empty$/],
  [
    rule({ warnings: { of: ['truncated', 'trunkated'] } }),
    'rules[0].warnings.of[1]',
    /^"trunkated" is not a code of a warning; did you mean truncated\?$/,
  ],
  [
    rule({ warnings: { except: 'brokn-*' } }),
    'rules[0].warnings.except',
    /^"brokn-\*" matches no code; known: broken-/,
  ],
  [
    rule({ findings: { 'must-fix': { of: 'codecs-mising' } } }),
    'rules[0].findings.must-fix.of',
    /^"codecs-mising" is not a code of the HLS validator; did you mean codecs-missing\?$/,
  ],
  [
    rule({ any: [{ count: 'video', is: 1 }, { none: [{ warnings: { of: 'x' } }] }] }),
    'rules[0].any[1].none[0].warnings.of',
    /^"x" is not a code of a warning/,
  ],
  [
    rule({ c2pa: { 'declared-ai': 'some' } }),
    'rules[0].c2pa.declared-ai',
    /^"some" is not accepted; accepted: generated, composite, unspecified, none$/,
  ],
  [rule({ c2pa: { state: 'good' } }), 'rules[0].c2pa.state', /accepted: trusted, valid, invalid, none$/],
  [
    rule({ disagreement: { field: 'codec.name', 'at-most': 1 } }),
    'rules[0].disagreement.at-most',
    /is no number: leave at-most out$/,
  ],
  [rule({ all: [] }), 'rules[0].all', /^must not be empty$/],
  [rule({ all: [{ all: [{ filed: 'x' }] }] }), 'rules[0].all[0].all[0].filed', /did you mean field\?/],
  [
    rule({ all: Array.from({ length: 101 }, () => ({ count: 'video', is: 1 })) }),
    'rules[0].all',
    /at most 100 members/,
  ],
  [rule(nested(9)), `rules[0]${'.all[0]'.repeat(9)}`, /^is nested deeper than 8 groups$/],
  [
    rule({ count: 'video', is: 1, when: { name: 'x', count: 'video', is: 1 } }),
    'rules[0].when.name',
    /is not a member of a rule/,
  ],
];

describe('policy: what is refused, with its place and what is accepted', () => {
  for (const [value, path, message] of TABLE)
    it(`${(JSON.stringify(value) ?? 'nothing').slice(0, 90)}: ${path}`, () => {
      const [at, text] = refused(() => readPolicy(value));
      assert.equal(at, path);
      assert.match(text, message);
    });

  it('a depth of 8 and 200 rules are accepted', () => {
    readPolicy(rule(nested(8)));
    readPolicy({ rules: Array.from({ length: 200 }, (_, at) => ({ name: `r${at}`, count: 'video', is: 1 })) });
  });

  it('more than 64 KB, in whatever form', () => {
    const large = { rules: [{ name: 'r', field: 'container.format', in: ['x'] }], description: 'x'.repeat(70_000) };
    assert.match(refused(() => readPolicy(large))[1], /^is 70\d{3} bytes long; at most 65536 are accepted$/);
    for (const type of ['application/json', 'application/yaml'])
      assert.match(refused(() => readPolicyText(JSON.stringify(large), type))[1], /^is larger than 65536 bytes$/);
  });

  const TEXTS: readonly [string, string, RegExp][] = [
    ['{', 'application/json', /^is not valid JSON$/],
    ['rules: [', 'application/yaml', /^is not valid YAML: /],
    ['rules: []\nrules: []', 'text/yaml', /^is not valid YAML: Map keys must be unique/],
    ['a: &a [x]\nb: *a', 'application/yaml', /anchors, which are not accepted$/],
    [
      'rules: []\na: {b: 1, c: 2, b: 3}',
      'text/yaml',
      /^is not valid YAML: Map keys must be unique at line 2, column 17$/,
    ],
    ['rules: []\n a: [', 'text/yaml', /^is not valid YAML: .* at line 2, column \d+$/],
    ['rules: !!js/function x', 'application/yaml', /^has tags, which are not accepted$/],
    ['b: *a', 'application/yaml', /^has aliases, which are not accepted$/],
    ['%YAML 1.1\n---\nrules: []', 'application/yaml', /^has directives, which are not accepted$/],
    ['rules: ]', 'application/yaml', /^is not valid YAML: a bracket closes that was not opened$/],
    ['['.repeat(60_000), 'application/yaml', /^is not valid YAML: it has more than 32 brackets within one another$/],
    ['"'.repeat(60_000), 'application/yaml', /^is not valid YAML: it has more than 24000 tokens$/],
    ['k: 1\n'.repeat(12_000), 'application/yaml', /^is not valid YAML: it has more than 24000 tokens$/],
    ['['.repeat(60_000), 'application/json', /^is not valid JSON$/],
    ['x', 'text/plain', /^text\/plain is not accepted; accepted: application\/json/],
  ];
  for (const [text, type, message] of TEXTS)
    it(`${type}: ${text.slice(0, 30)}`, () => assert.match(refused(() => readPolicyText(text, type))[1], message));

  it('a text of YAML may begin with what is refused elsewhere', () => {
    const text = 'description: |\n  * one\n  & two\nrules:\n  - {name: r, count: video, is: 1, note: "!x"}\n';
    assert.match(refused(() => readPolicyText(text, 'text/yaml'))[1], /note/);
    const { policy } = readPolicyText(text.replace(', note: "!x"', ''), 'text/yaml');
    assert.equal(policy.description, '* one\n& two\n');
  });

  it('a value that is no JSON', () => {
    const circular: Record<string, unknown> = {};
    circular['rules'] = circular;
    assert.equal(refused(() => readPolicy(circular))[1], 'must be JSON');
  });
});

describe('policy: fields', () => {
  /** The paths of a schema's members, one level down. */
  const pathsOf = (schema: unknown, skip: readonly string[]): string[] => {
    const { properties = {} } = schema as { properties?: Record<string, { properties?: object }> };
    return Object.entries(properties)
      .filter(([name]) => !skip.includes(name))
      .flatMap(([name, member]) =>
        member.properties && !('numerator' in member.properties)
          ? Object.keys(member.properties).map((inner) => `${name}.${inner}`)
          : [name],
      );
  };
  const { container, streams } = ProbeReportSchema.properties as unknown as Record<string, { items?: unknown }>;

  it('of the container are those that the report shows', () => {
    assert.deepEqual(pathsOf(container, []).sort(), Object.keys(CONTAINER_FIELDS).sort());
  });

  it('of streams are those that the report shows', () => {
    const known = new Set(Object.values(STREAM_FIELDS).flatMap((fields) => Object.keys(fields)));
    assert.deepEqual(pathsOf(streams!.items, []).sort(), [...known].sort());
  });
});

describe('policy: bounds', () => {
  it('a glob never goes back: each character of a value is read a bounded number of times', () => {
    const glob = globOf('*a*a*a*a*a*a*a*a*a*a*a*a*a*b', false);
    assert.equal(glob.matches('a'.repeat(1000)), false);
    assert.ok(glob.cost('a'.repeat(100_000)) < 2000);
  });

  it('globs match as they are read', () => {
    for (const [pattern, value, expected] of [
      ['*', '', true],
      ['a*', 'abc', true],
      ['*c', 'abc', true],
      ['a*c', 'ac', true],
      ['a*c', 'abcd', false],
      ['a?c', 'abc', true],
      ['a?c', 'ac', false],
      ['*b*', 'abc', true],
      ['ab*ba', 'aba', false],
      ['*a?c*', 'xxabcxx', true],
      ['a.c', 'abc', false],
      ['**', 'x', true],
      ['', 'x', false],
    ] as const)
      assert.equal(globOf(pattern, false).matches(value), expected, `${pattern} ${value}`);
  });

  it('the costliest policy on the largest report ends within its steps, and what is left is unknown', () => {
    const group = Array.from({ length: 100 }, () => ({ field: 'title', matches: ['*a*a*a*b'] }));
    const costly = readPolicy({
      rules: Array.from({ length: 15 }, (_, at) => ({ name: `r${at}`, each: 'stream', none: group })),
    });
    const meter = new Meter();
    const streams = Array.from({ length: 4000 }, () => video({ title: 'a'.repeat(1000) }));
    const { outcome, rules } = evaluate(costly, facts(streams), meter);
    assert.equal(outcome, 'unknown');
    assert.match(rules.at(-1)!.message, /^not judged: the policy is too much work/);
    assert.ok(meter.spent && meter.left > -MOST_STEPS, String(meter.left));
  }).timeout(60_000);
});
