import assert from 'node:assert/strict';
import { newSpanId, newTraceId, parseTraceparent, traceparent } from '../../src/platform/tracing/trace_context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('traceparent', () => {
  for (const [text, sampled] of [
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`01-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-comes-later`, true],
  ] as const)
    it(`is taken up: ${text}`, () => {
      assert.deepEqual(parseTraceparent(text), { traceId: TRACE, spanId: SPAN, sampled });
    });

  for (const [why, text] of [
    ['empty', ''],
    ['version ff', `ff-${TRACE}-${SPAN}-01`],
    ['version 00 with more members', `00-${TRACE}-${SPAN}-01-x`],
    ['a later version with trailing text', `01-${TRACE}-${SPAN}-01x`],
    ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['one digit of flags', `00-${TRACE}-${SPAN}-1`],
    ['no hex', `00-${TRACE.slice(1)}g-${SPAN}-01`],
    ['spaces', ` 00-${TRACE}-${SPAN}-01`],
    ['two of them', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['a line break', `00-${TRACE}-${SPAN}-01\n`],
    ['too long', `01-${TRACE}-${SPAN}-01-${'x'.repeat(1_000)}`],
  ] as const)
    it(`is ignored: ${why}`, () => {
      assert.equal(parseTraceparent(text), undefined);
    });

  it('new ids are valid, and differ', () => {
    const made = { traceId: newTraceId(), spanId: newSpanId(), sampled: true };
    assert.deepEqual(parseTraceparent(traceparent(made)), made);
    assert.notEqual(newTraceId(), newTraceId());
  });
});
