import assert from 'node:assert/strict';
import { MOST_BYTES } from '../../src/media/policy/limits.ts';
import { readPolicyText } from '../../src/media/policy/read.ts';
import type { Policy } from '../../src/media/policy/schema.ts';
import { assertLinear, filled } from '../source/work.ts';

const YAML = 'application/yaml';
const XML = 'application/xml';
const mediaConch = (rules: string): string => `<policy>${rules}</policy>`;
const rule = (name: string): string => `<rule name="${name}" value="Format" tracktype="Video" operator="=">AVC</rule>`;
const group = (members: string): string => `<policy type="or" name="g">${members}</policy>`;

const lines = (count: number, line: (indent: string) => string): string =>
  Array.from({ length: count }, (_, at) => line(' '.repeat(at))).join('');

describe('bounded work: policies', function () {
  this.timeout(180_000);

  const refused: [name: string, mediaType: string, text: string, message: RegExp][] = [
    ['a map as the name of a member', YAML, '? a: b\n', /the name of a member must be text at line 1, column 4$/],
    [
      'a list as the name of a member',
      YAML,
      'rules: {[a]: b}',
      /the name of a member must be text at line 1, column 9$/,
    ],
    // Each level of these once doubled the text: 57 bytes took 1 GB and 8 s, 101 bytes killed an API replica.
    ['20 names within one another', YAML, `${'? '.repeat(20)}a`, /the name of a member must be text/],
    ['20 maps as names within one another', YAML, `${'{'.repeat(20)}a: b${'}'.repeat(20)}`, /must be text/],
    ['100 names within one another', YAML, `${'? '.repeat(100)}a`, /must be text/],
    ['names deeper than the columns of a block', YAML, `${'? '.repeat(102)}a`, /a block that begins behind column 200/],
    ['lists deeper than the columns of a block', YAML, `${'- '.repeat(102)}a`, /a block that begins behind column 200/],
    ['maps deeper than the columns of a block', YAML, lines(202, (at) => `${at}a:\n`), /begins behind column 200/],
    ['maps in one line', YAML, 'a: '.repeat(100), /a block that begins behind column 200/],
    ['more rules than a policy may have', XML, mediaConch(rule('a').repeat(201)), /^has more than 200 rules$/],
    [
      'more rules than a group may have',
      XML,
      mediaConch(group(rule('a').repeat(101))),
      /a group of more than 100 rules$/,
    ],
    ['elements within one another', XML, '<policy>'.repeat(40), /elements deeper than 32/],
  ];
  for (const [name, mediaType, text, message] of refused)
    it(`${mediaType}: ${name} is refused`, () =>
      assert.throws(() => readPolicyText(text, mediaType), { code: 'policy-invalid', path: '', message }));

  it('YAML: a flow in one long line, and text behind column 200, are accepted', () => {
    const names = Array.from({ length: 40 }, (_, at) => `{name: r${at}, count: video, is: 1}`).join(', ');
    assert.equal(readPolicyText(`rules: [${names}]`, YAML).policy.rules.length, 40);
    const text = `description: ${'a-b ?c '.repeat(50)}\nrules: [{name: a, count: video, is: 1}]`;
    assert.match(String(readPolicyText(text, YAML).policy.description), /b \?c$/);
  });

  const rulesOf = (text: string): string[] => readPolicyText(text, XML).policy.rules.map(({ name }) => name);

  it('MediaConch: rules of one name get a number each, also where a rule has such a name already', () => {
    assert.deepEqual(rulesOf(mediaConch(['a', 'a 3', 'a', 'a', 'b', 'a', 'a 3'].map(rule).join(''))), [
      'a',
      'a 3',
      'a 2',
      'a 4',
      'b',
      'a 5',
      'a 3 2',
    ]);
    const many = rulesOf(mediaConch(rule('a').repeat(200)));
    assert.deepEqual([new Set(many).size, many.at(-1)], [200, 'a 200']);
  });

  it('MediaConch: time for rules of one name grows linearly with their number', () =>
    assertLinear('rules of one name', 2_000, (count) => {
      const text = mediaConch(rule('n'.repeat(40)).repeat(count));
      return () => readPolicyText(text, XML);
    }));

  const units = ['? ', '- ', "'\n", '[]', '- - a\n', 'b\n c\n'];
  for (const unit of units)
    it(`YAML: time for ${JSON.stringify(unit)} grows linearly with their number`, () => {
      for (const before of ['', '['.repeat(31)])
        assertLinear(`${before.slice(0, 4)} ${unit}`, MOST_BYTES / 8, (size) => {
          const text = `${before}${filled(unit, size)}`;
          return () => readPolicyText(text, YAML);
        });
    });

  const many = (count: number, members: (at: number) => object): Policy =>
    ({ rules: Array.from({ length: count }, (_, at) => ({ name: `r${at}`, ...members(at) })) }) as Policy;
  const documents: [name: string, document: (size: number) => unknown][] = [
    ['globs', (size) => many(size / 1000, () => ({ warnings: { of: Array(90).fill('single-*'), 'at-most': 0 } }))],
    ['values', (size) => many(size / 1000, () => ({ each: 'audio', field: 'language', in: Array(100).fill('en-US') }))],
    ['unknown members', (size) => Object.fromEntries(Array.from({ length: size / 10 }, (_, at) => [`k${at}`, 1]))],
    [
      'unknown members of a rule',
      (size) => many(1, () => Object.fromEntries(Array.from({ length: size / 10 }, (_, at) => [`k${at}`, 1]))),
    ],
    ['paths', (size) => many(size / 400, () => ({ tool: 'ffprobe', path: `a[b=${'c'.repeat(99)}].d`, is: 1 }))],
  ];
  for (const [name, document] of documents)
    it(`JSON: time for ${name} grows linearly with their number`, () =>
      assertLinear(name, MOST_BYTES / 5, (size) => {
        const text = JSON.stringify(document(size));
        return () => readPolicyText(text, 'application/json');
      }));
});
