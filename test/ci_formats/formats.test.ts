/** What is written for CI systems, of verdicts and of findings. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import type { Judged } from '../../src/media/ci_formats/judged.ts';
import { junitText } from '../../src/media/ci_formats/junit.ts';
import { judgedByPolicy } from '../../src/media/ci_formats/policy_rules.ts';
import { sarifText } from '../../src/media/ci_formats/sarif.ts';
import type { PolicyResult, RuleResult } from '../../src/media/policy/schema.ts';
import { readXml } from '../cli/xml.ts';
import { errorsOf } from '../conforms.ts';

const STANDARD = import.meta.resolve('@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json');

/**
 * The schema of SARIF 2.1.0 itself. Ajv does not know its old dialect by name; what the schema uses of it is the same.
 * One of its patterns is no valid one with the flag `u`.
 */
function sarifSchema(): ReturnType<Ajv['compile']> {
  const { $schema, id, ...schema } = JSON.parse(readFileSync(new URL(STANDARD), 'utf8')) as Record<string, unknown>;
  assert.match(`${id} ${$schema}`, /sarif-2\.1\.0.* .*draft-04/);
  const ajv = new Ajv({ strict: false, allErrors: true, verbose: true, unicodeRegExp: false });
  (addFormats as unknown as (ajv: Ajv) => void)(ajv);
  return ajv.compile(schema);
}
const isSarif = sarifSchema();

const OUTCOMES = {
  fail: ['pass', 'fail', 'not-applicable', 'unknown'],
  warn: ['pass', 'warn', 'not-applicable', 'unknown'],
} as const;
const rules: RuleResult[] = (['fail', 'warn'] as const).flatMap((level) =>
  OUTCOMES[level].map((outcome) => ({
    name: `${level} ${outcome}`,
    level,
    outcome,
    message: `<${outcome}> & "more"`,
  })),
);
const result: PolicyResult = { name: 'house', revision: 3, outcome: 'fail', rules };
const FILE = 'https://example.com/a.mov?a=1&b=2';
const HOSTILE = `<![CDATA[ ]]> & "'\u0000\u001b\ud800 --> é`;

/** Addresses, and the URIs that stand for them. */
const ADDRESSES: [string, string][] = [
  ['https://example.com/a b.mov?ü=[1]', 'https://example.com/a%20b.mov?%C3%BC=%5B1%5D'],
  ['https://[::1]:8443/[a]{b}|c^`.mov?x={|}#a#b', 'https://[::1]:8443/%5Ba%5D%7Bb%7D%7Cc%5E%60.mov?x=%7B%7C%7D#a%23b'],
  ['https://example.com/100%.mov?q=%zz&r=%20', 'https://example.com/100%25.mov?q=%25zz&r=%20'],
  ['s3://bucket/a key.mov', 's3://bucket/a%20key.mov'],
];

const playlist: Judged = {
  subject: 'https://example.com/main.m3u8',
  by: 'HLS',
  outcome: 'fail',
  findings: [
    {
      rule: 'a',
      outcome: 'fail',
      blocking: true,
      message: HOSTILE,
      remedy: HOSTILE,
      about: { text: 'A thing is wrong.', url: 'https://example.com/docs/hls-rules' },
      url: 'https://example.com/1.m3u8',
      line: 7,
    },
    { rule: 'a', outcome: 'warn', blocking: false, message: 'b', url: 'no address', line: 0, detail: '3 times' },
  ],
};
const unreadable: Judged = { subject: HOSTILE, by: 'house', outcome: 'unknown', findings: [], error: HOSTILE };

describe('formats for CI systems', () => {
  it('JUnit: fail is a failure, unknown of level fail an error, not-applicable skipped, warn passes', () => {
    const { elements, texts } = readXml(junitText([judgedByPolicy(result, FILE)]));
    const [suites, suite] = elements;
    assert.deepEqual(
      { ...suites!.attributes },
      {
        name: 'Probeyard',
        tests: '8',
        failures: '1',
        errors: '1',
        skipped: '2',
      },
    );
    assert.equal(suite!.attributes['name'], FILE);
    const values = elements.filter(({ name }) => name === 'property').map(({ attributes }) => attributes['value']);
    assert.deepEqual(values, ['house revision 3', 'fail']);
    const failure = elements.find(({ name }) => name === 'failure');
    assert.deepEqual({ ...failure!.attributes }, { type: 'fail', message: '<fail> & "more"' });
    assert.ok(texts.includes('warning: <warn> & "more"') && texts.includes('unknown: <unknown> & "more"'));
  });

  it('JUnit: with failOnWarn, a rule of level warn is a failure, and an error where it is unknown', () => {
    const [suites] = readXml(junitText([judgedByPolicy(result, FILE, { failOnWarn: true })])).elements;
    assert.deepEqual([suites!.attributes['failures'], suites!.attributes['errors']], ['2', '2']);
  });

  it('JUnit: names the stream, further ones, and where a value comes from', () => {
    const rule: RuleResult = {
      ...rules[1]!,
      stream: 'streams[1]',
      field: 'channels',
      from: 'mediainfo 26.10',
      confidence: 0.9,
      also: [{ stream: 'streams[2]', actual: '6' }, { stream: 'streams[3]' }],
      more: 4,
    };
    const { texts } = readXml(junitText([judgedByPolicy({ ...result, rules: [rule] }, FILE)]));
    const told =
      'streams[1].channels; <fail> & "more"; also streams[2]: 6, streams[3]; and 4 more; ' +
      'from mediainfo 26.10, confidence 0.9';
    assert.ok(texts.includes(told), texts.join('\n'));
  });

  it('JUnit: is well-formed XML, whatever a file says', () => {
    const hostile = judgedByPolicy({ ...result, name: HOSTILE, rules: [{ ...rules[1]!, message: HOSTILE }] }, HOSTILE);
    const { elements } = readXml(junitText([hostile, playlist, unreadable]));
    assert.deepEqual(
      elements.map(({ name }) => name).filter((name) => !name.startsWith('propert')),
      [
        'testsuites',
        'testsuite',
        'testcase',
        'failure',
        'testsuite',
        'testcase',
        'failure',
        'testcase',
        'system-out',
        'testsuite',
        'testcase',
        'error',
      ],
    );
  });

  it('a finding says what to do: in the text of JUnit, and as the help of the rule in SARIF', () => {
    const one: Judged = { ...playlist, findings: [{ ...playlist.findings[0]!, message: 'a: 1', remedy: 'Do it.' }] };
    assert.ok(readXml(junitText([one])).texts.includes('a: 1; Do it.; https://example.com/1.m3u8:7'));
    const [rule] = JSON.parse(sarifText([one])).runs[0].tool.driver.rules;
    assert.deepEqual(
      [rule.shortDescription, rule.help, rule.helpUri],
      [{ text: 'A thing is wrong.' }, { text: 'Do it.' }, 'https://example.com/docs/hls-rules'],
    );
  });

  it('SARIF: only a failure has a level; what could not be judged is open, and the run no success', () => {
    const log = JSON.parse(sarifText([judgedByPolicy(result, 'https://example.com/a.mov')]));
    const [run] = log.runs;
    assert.deepEqual(
      run.results.map(({ kind, level }: { kind: string; level: string }) => `${kind} ${level}`),
      ['error', 'warning'].flatMap((level) => ['pass none', `fail ${level}`, 'notApplicable none', 'open none']),
    );
    assert.equal(run.invocations[0].executionSuccessful, false);
    assert.deepEqual(
      run.invocations[0].toolExecutionNotifications.map(({ level }: { level: string }) => level),
      ['error', 'warning'],
    );
    assert.equal(run.results[0].locations[0].physicalLocation.artifactLocation.uri, 'https://example.com/a.mov');
    assert.deepEqual(run.properties.verdicts, [
      { subject: 'https://example.com/a.mov', judgedBy: 'house revision 3', outcome: 'fail' },
    ]);
  });

  describe('a rule that is waived', () => {
    const waived = { waiver: 'id', reason: 'Archive', by: 'Ada', until: '2027-01-31T00:00:00.000Z' };
    const judged = judgedByPolicy(
      { ...result, outcome: 'pass', rules: [{ ...rules[1]!, outcome: 'waived', waived }] },
      FILE,
      { failOnWarn: true },
    );

    it('JUnit: is skipped, with who accepts it and why', () => {
      const text = junitText([judged]);
      assert.match(text, /tests="1" failures="0" errors="0" skipped="1"/);
      assert.match(text, /<skipped message="waived until 2027-01-31 by Ada: Archive; &lt;fail&gt; &amp; /);
    });

    it('SARIF: is a result with a suppression, and the run a success', () => {
      const text = sarifText([judged]);
      const log = JSON.parse(text);
      assert.deepEqual(log.runs[0].results[0].suppressions, [
        { kind: 'external', status: 'accepted', justification: 'waived until 2027-01-31 by Ada: Archive' },
      ]);
      assert.equal(log.runs[0].invocations[0].executionSuccessful, true);
      assert.ok(isSarif(log), errorsOf(isSarif));
    });
  });

  it('SARIF: a run is successful where only a rule of level warn is unknown', () => {
    const warned = { ...result, rules: rules.filter(({ level, outcome }) => level === 'warn' || outcome === 'pass') };
    assert.equal(
      JSON.parse(sarifText([judgedByPolicy(warned, FILE)])).runs[0].invocations[0].executionSuccessful,
      true,
    );
    assert.equal(JSON.parse(sarifText([unreadable])).runs[0].invocations[0].executionSuccessful, false);
  });

  it('SARIF: a rule of two sources is listed once, and every result points at it', () => {
    const [run] = JSON.parse(sarifText([judgedByPolicy(result, FILE), playlist, judgedByPolicy(result, FILE)])).runs;
    const ids = run.tool.driver.rules.map(({ id }: { id: string }) => id);
    assert.equal(ids.length, rules.length + 1);
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(run.results.length, 2 * rules.length + 2);
    for (const { ruleId, ruleIndex } of run.results) assert.equal(ids[ruleIndex], ruleId);
  });

  const logs: [string, Judged[]][] = [
    ['a verdict on an address', [judgedByPolicy(result, FILE)]],
    ...ADDRESSES.map(([given]): [string, Judged[]] => [`a verdict on ${given}`, [judgedByPolicy(result, given)]]),
    ['a verdict on a request on record', [judgedByPolicy(result, '0198c0de-0000-7000-8000-000000000000')]],
    ['a policy that came with the request, with everything that a rule may tell', [everything()]],
    ['a policy without rules', [judgedByPolicy({ ...result, rules: [] }, FILE)]],
    ['two sources, a playlist with lines, and a source that could not be read', [everything(), playlist, unreadable]],
    ['nothing', []],
  ];
  for (const [what, judged] of logs)
    it(`SARIF: conforms to the schema of the standard: ${what}`, () =>
      assert.ok(isSarif(JSON.parse(sarifText(judged))), errorsOf(isSarif)));

  for (const [given, uri] of ADDRESSES)
    it(`SARIF: the URI of ${given} is ${uri}`, () => {
      const [run] = JSON.parse(sarifText([judgedByPolicy(result, given)])).runs;
      assert.equal(run.results[0].locations[0].physicalLocation.artifactLocation.uri, uri);
    });

  it('SARIF: the schema refuses a log that is wrong in one place', () => {
    const broken: [string, string, string][] = [
      ['no version', '"version": "2.1.0",', ''],
      ['a kind of our own', '"kind": "open"', '"kind": "unknown"'],
      ['a level of our own', '"level": "none"', '"level": "fail"'],
      ['a misspelt member', '"message": {', '"massage": {'],
      ['an index that is not one', '"ruleIndex": 1,', '"ruleIndex": -2,'],
      ['a line 0', '"startLine": 7', '"startLine": 0'],
      ['no outcome of the invocation', '"executionSuccessful": false,', ''],
      ['a property of ours outside of the property bag', '"properties": {', '"verdicts": {'],
    ];
    const text = sarifText([judgedByPolicy(result, FILE), playlist]);
    assert.ok(isSarif(JSON.parse(text)), errorsOf(isSarif));
    for (const [what, right, wrong] of broken) {
      assert.ok(text.includes(right), right);
      assert.ok(!isSarif(JSON.parse(text.replace(right, wrong))), what);
    }
  });
});

function everything(): Judged {
  const rule: RuleResult = {
    ...rules[1]!,
    stream: 'streams[1]',
    field: 'size.width',
    actual: HOSTILE,
    expected: 'at least 1280',
    from: 'mediainfo 26.10',
    confidence: 0.9,
    also: [{ stream: 'streams[2]', actual: '640' }],
    more: 3,
  };
  return judgedByPolicy({ name: null, revision: null, outcome: 'fail', rules: [rule] }, FILE);
}
