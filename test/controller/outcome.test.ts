import assert from 'node:assert/strict';
import type { FailureCode, ResultBody } from '../../src/platform/bus/result_body.ts';
import { type Outcome, outcome, runsOf } from '../../src/service/controller/collect/outcome.ts';
import { bad, body as printed, BOTH, good } from '../result/result_samples.ts';
import { headOf } from '../result/text_body.ts';

const ok = good('ffprobe', '{}');
const fine = good('mediainfo', '{}');
const both = (failure: FailureCode, first = 'first (exit code 1)') => [
  bad('ffprobe', failure, first),
  bad('mediainfo', failure, 'second (exit code 0)'),
];

const body = (...given: Parameters<typeof printed>): ResultBody => headOf(printed(...given));

const TABLE: [string, ResultBody, Pick<Outcome, 'status' | 'state' | 'reason'> & { error?: string }][] = [
  ['both tools succeeded', body([ok, fine]), { status: 200, state: 'success', reason: 'Completed' }],
  [
    'one failed by itself',
    body([ok, bad('mediainfo', 'crashed', 'x')]),
    { status: 200, state: 'with-errors', reason: 'Completed' },
  ],
  [
    'one could not reach the origin, the other read it',
    body([bad('ffprobe', 'origin-unreachable', 'x'), fine], {
      source: { failure: 'origin-unreachable', message: 'm' },
    }),
    { status: 200, state: 'with-errors', reason: 'Completed' },
  ],
  [
    'one timed out',
    body([bad('ffprobe', 'timeout', 'x'), fine]),
    { status: 200, state: 'with-errors', reason: 'Completed' },
  ],
  ['one was skipped', body([ok], { skipped: ['mediainfo'] }), { status: 200, state: 'success', reason: 'Completed' }],
  [
    'one was skipped, the other failed',
    body([bad('ffprobe', 'origin-unreachable', 'first (exit code 1)')], { skipped: ['mediainfo'] }),
    { status: 404, state: 'error', reason: 'OriginUnreachable', error: 'first (exit code 1)' },
  ],
  [
    'all were skipped',
    body([], { skipped: ['ffprobe', 'mediainfo'] }),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'no tool returned a result' },
  ],
  ['one tool has no result', body([ok]), { status: 200, state: 'with-errors', reason: 'Completed' }],
  [
    'every tool failed because the origin could not be reached',
    body(both('origin-unreachable'), { source: { failure: 'origin-unreachable', status: 404, message: 'm' } }),
    { status: 404, state: 'error', reason: 'OriginUnreachable', error: 'first (exit code 1)' },
  ],
  [
    'the origin was lost for one tool, the other timed out',
    body([bad('ffprobe', 'timeout', 'late'), bad('mediainfo', 'origin-unreachable', 'x')], {
      source: { failure: 'origin-unreachable', message: 'm' },
    }),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'late' },
  ],
  [
    'the source or its redirect is refused',
    body(both('source-forbidden'), { source: { failure: 'source-forbidden', message: 'the address is not allowed' } }),
    { status: 400, state: 'error', reason: 'SourceForbidden', error: 'the address is not allowed' },
  ],
  [
    'an address inside a playlist is refused',
    body(both('failed')),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'first (exit code 1)' },
  ],
  [
    'the declared size is over the limit',
    body(both('source-too-large'), { source: { failure: 'source-too-large', message: 'larger than 10 GB' } }),
    { status: 400, state: 'error', reason: 'SourceTooLarge', error: 'larger than 10 GB' },
  ],
  [
    'the read was cut off',
    body(both('source-cut'), { source: { failure: 'source-cut', message: 'm' } }),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'first (exit code 1)' },
  ],
  [
    'both timed out',
    body(both('timeout')),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'first (exit code 1)' },
  ],
  [
    'both crashed',
    body(both('crashed')),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'first (exit code 1)' },
  ],
  [
    'both ran out of memory',
    body(both('out-of-memory')),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'first (exit code 1)' },
  ],
  [
    'not a media file',
    body(both('failed', 'Invalid data found when processing input (exit code 1)')),
    {
      status: 200,
      state: 'error',
      reason: 'ToolFailed',
      error: 'Invalid data found when processing input (exit code 1)',
    },
  ],
  [
    'too much output',
    body(both('output-too-large')),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'first (exit code 1)' },
  ],
  [
    'no tool could be started',
    body(both('unavailable', '/tools/x: ENOENT')),
    { status: 500, state: 'error', reason: 'ToolUnavailable', error: 'the tool could not be started' },
  ],
  [
    'no result of any tool',
    body([]),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'ffprobe 7.1 returned no result' },
  ],
];

const A = 'a' as const;
const B = 'b' as const;
const SIDED: typeof TABLE = [
  [
    'two sources, both read',
    body([good('ffprobe', '{}', { side: A }), good('ffprobe', '{}', { side: B })]),
    { status: 200, state: 'success', reason: 'Completed' },
  ],
  [
    'two sources, the second could not be reached',
    body([good('ffprobe', '{}', { side: A }), bad('ffprobe', 'origin-unreachable', 'HTTP 404', { side: B })]),
    { status: 200, state: 'with-errors', reason: 'Completed' },
  ],
  [
    'two sources, of which only the first has a result',
    body([good('ffprobe', '{}', { side: A })]),
    { status: 200, state: 'with-errors', reason: 'Completed' },
  ],
  [
    'two sources without sides, as no runner reports them',
    body([good('ffprobe', '{}')]),
    {
      status: 200,
      state: 'error',
      reason: 'ToolFailed',
      error: 'a: ffprobe 7.1 returned no result; b: ffprobe 7.1 returned no result',
    },
  ],
  [
    'two sources, neither of which can be reached',
    body([
      bad('ffprobe', 'origin-unreachable', 'HTTP 404', { side: A }),
      bad('ffprobe', 'origin-unreachable', 'HTTP 500', { side: B }),
    ]),
    { status: 404, state: 'error', reason: 'OriginUnreachable', error: 'a: HTTP 404; b: HTTP 500' },
  ],
  [
    'two sources, one unreachable, the other refused',
    body([
      bad('ffprobe', 'origin-unreachable', 'HTTP 404', { side: A }),
      bad('ffprobe', 'source-forbidden', 'the address is not allowed', { side: B }),
    ]),
    { status: 200, state: 'error', reason: 'ToolFailed', error: 'a: HTTP 404; b: the address is not allowed' },
  ],
];

describe('outcome of two sources', () => {
  const tools = [{ name: 'ffprobe' as const, version: '7.1' }];
  const job = (other?: { sealed: string }): Parameters<typeof runsOf>[0] => ({
    spec: { kind: 'compare', source: {}, ...(other ? { other } : {}) },
    status: { tools },
  });
  const two = job({ sealed: '' });

  for (const [what, result, expected] of SIDED)
    it(`${what}: ${expected.status}, ${expected.state}`, () => {
      const { summary, ...rest } = outcome(result, runsOf(two));
      assert.deepEqual(rest, expected);
      assert.match(summary, /^a: ffprobe 7\.1: .+; b: ffprobe 7\.1: /);
    });

  it('a job with a second source has every run twice; others do not', () => {
    assert.deepEqual(
      runsOf(two),
      (['a', 'b'] as const).map((side) => ({ ...tools[0], side })),
    );
    assert.deepEqual(runsOf(job()), tools);
  });
});

describe('outcome', () => {
  for (const [what, result, expected] of TABLE) {
    it(`${what}: ${expected.status}, ${expected.state}`, () => {
      const { summary, ...rest } = outcome(result, BOTH);
      assert.deepEqual(rest, expected);
      assert.ok(summary.length > 0 && !summary.includes('\n'));
    });
  }

  const msv = (result: ResultBody) => {
    const { summary: _, ...rest } = outcome(result, [{ name: 'msv', version: '7.1' }]);
    return rest;
  };

  it("a validator's report of broken rules is a success of the validator", () => {
    assert.deepEqual(msv(body([bad('msv', 'failed', '2 must-fix: first', { output: '{}' })])), {
      status: 200,
      state: 'with-errors',
      reason: 'Completed',
      error: '2 must-fix: first',
    });
    assert.deepEqual(msv(body([bad('msv', 'failed', 'no report')])), {
      status: 200,
      state: 'error',
      reason: 'ToolFailed',
      error: 'no report',
    });
    assert.deepEqual(msv(body([bad('msv', 'timeout', 'late', { output: '{}' })])), {
      status: 200,
      state: 'error',
      reason: 'ToolFailed',
      error: 'late',
    });
  });

  it('judges each version of a tool by itself', () => {
    const versions = [
      { name: 'ffprobe', version: '4.4' },
      { name: 'ffprobe', version: '7.1' },
    ] as const;
    const { summary, state } = outcome(
      body([good('ffprobe', '{}', { version: '4.4' }), bad('ffprobe', 'crashed', 'x')]),
      versions,
    );
    assert.deepEqual([state, summary], ['with-errors', 'ffprobe 4.4: ok in 12 ms; ffprobe 7.1: x']);
    const { error } = outcome(body([bad('ffprobe', 'crashed', 'x', { version: '4.4' })]), versions);
    assert.equal(error, 'x');
  });

  it('keeps the summary to one line that fits the resource', () => {
    const { summary } = outcome(body([bad('ffprobe', 'failed', `a\nb\r\n${'x'.repeat(5000)}`), fine]), BOTH);
    assert.ok(summary.length <= 1000);
    assert.match(summary, /^ffprobe 7\.1: a b x+/);
  });

  it('summarises what ran and for how long', () => {
    assert.equal(
      outcome(body([ok, bad('mediainfo', 'timeout', 'timed out')]), BOTH).summary,
      'ffprobe 7.1: ok in 12 ms; mediainfo 7.1: timed out',
    );
  });
});
