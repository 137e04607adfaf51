import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { SaxesParser } from 'saxes';
import { junit } from '../../src/policy/junit.ts';
import { sarif } from '../../src/policy/sarif.ts';
import type { PolicyResult, RuleResult } from '../../src/policy/schema.ts';
import { LEVELS, OUTCOMES } from '../../src/policy/types.ts';

const rules: RuleResult[] = LEVELS.flatMap((level) =>
  OUTCOMES.map((outcome) => ({ name: `${level} ${outcome}`, level, outcome, message: `<${outcome}> & "more"` })),
);
const result: PolicyResult = { name: 'house', revision: 3, outcome: 'fail', rules };

describe('policy: formats', () => {
  it('JUnit: fail is a failure, unknown of level fail an error, not-applicable skipped, warn passes', () => {
    const text = junit(result, 'https://example.com/a.mov?a=1&b=2');
    assert.match(text, /<testsuites name="Probeyard" tests="10" failures="2" errors="1" skipped="2">/);
    assert.match(text, /<failure type="fail" message="&lt;fail&gt; &amp; &quot;more&quot;">/);
    assert.match(text, /value="https:\/\/example.com\/a.mov\?a=1&amp;b=2"/);
    assert.equal(text.match(/<system-out>warning: /g)?.length, 2);
  });

  it('SARIF: only a failure has a level; what could not be judged is open, and the run no success', () => {
    const log = JSON.parse(sarif(result, 'https://example.com/a.mov'));
    const [run] = log.runs;
    assert.deepEqual(
      run.results.map(({ kind, level }: { kind: string; level: string }) => `${kind} ${level}`),
      [
        'pass none',
        'fail error',
        'fail error',
        'notApplicable none',
        'open none',
        'pass none',
        'fail warning',
        'fail warning',
        'notApplicable none',
        'open none',
      ],
    );
    assert.equal(run.invocations[0].executionSuccessful, false);
    assert.equal(run.results[0].locations[0].physicalLocation.artifactLocation.uri, 'https://example.com/a.mov');
  });

  it('JUnit: is well-formed XML, whatever a file says', () => {
    const hostile = `<![CDATA[ ]]> & "'\u0000\u001b\ud800 --> é`;
    const text = junit({ ...result, name: hostile, rules: [{ ...rules[1]!, message: hostile }] }, hostile);
    const elements: string[] = [];
    const parser = new SaxesParser({ xmlns: false });
    parser.on('error', (error) => {
      throw error;
    });
    parser.on('opentag', ({ name }) => void elements.push(name));
    parser.write(text).close();
    assert.deepEqual(elements, [
      'testsuites',
      'testsuite',
      'properties',
      'property',
      'property',
      'testcase',
      'failure',
    ]);
  });

  /** What SARIF 2.1.0 demands of the parts that are used; its own schema is in no package of the registry. */
  const message = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } };
  const level = { enum: ['none', 'note', 'warning', 'error'] };
  const SARIF = {
    type: 'object',
    required: ['version', 'runs'],
    additionalProperties: false,
    properties: {
      $schema: { type: 'string' },
      version: { const: '2.1.0' },
      runs: {
        type: 'array',
        items: {
          type: 'object',
          required: ['tool'],
          additionalProperties: false,
          properties: {
            columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
            properties: { type: 'object' },
            tool: {
              type: 'object',
              required: ['driver'],
              properties: {
                driver: {
                  type: 'object',
                  required: ['name'],
                  properties: {
                    name: { type: 'string' },
                    rules: {
                      type: 'array',
                      uniqueItems: true,
                      items: {
                        type: 'object',
                        required: ['id'],
                        additionalProperties: false,
                        properties: {
                          id: { type: 'string' },
                          shortDescription: message,
                          defaultConfiguration: { type: 'object', properties: { level } },
                        },
                      },
                    },
                  },
                },
              },
            },
            invocations: {
              type: 'array',
              items: {
                type: 'object',
                required: ['executionSuccessful'],
                properties: {
                  executionSuccessful: { type: 'boolean' },
                  toolExecutionNotifications: {
                    type: 'array',
                    items: { type: 'object', required: ['message'], properties: { message, level } },
                  },
                },
              },
            },
            results: {
              type: 'array',
              items: {
                type: 'object',
                required: ['message'],
                additionalProperties: false,
                properties: {
                  ruleId: { type: 'string' },
                  ruleIndex: { type: 'integer', minimum: 0 },
                  kind: { enum: ['notApplicable', 'pass', 'fail', 'review', 'open', 'informational'] },
                  level,
                  message,
                  locations: { type: 'array', items: { type: 'object' } },
                  properties: { type: 'object' },
                },
              },
            },
          },
        },
      },
    },
  };

  it('SARIF: has the parts that the standard demands, with and without an address', () => {
    const valid = new Ajv({ strict: false }).compile(SARIF);
    for (const subject of ['https://example.com/a b.mov', '0198c0de-0000-7000-8000-000000000000'])
      assert.ok(valid(JSON.parse(sarif(result, subject))), JSON.stringify(valid.errors));
  });
});
