import assert from 'node:assert/strict';
import { CAUSES } from '../../../src/base/causes.ts';
import type { Reason } from '../../../src/platform/kube/probe_job.ts';
import { verdictOf } from '../../../src/service/api/batch/retry.ts';

type Given = Parameters<typeof verdictOf>[0];

const given = (change: Partial<Given> = {}): Given => ({
  state: 'error',
  reason: 'OriginUnreachable',
  code: null,
  status: 404,
  attempt: 1,
  ...change,
});
const judge = (end: Given, goesOn = true) => verdictOf(end, { tries: 3, goesOn }, () => 0);
const END = { to: 'end' };
const AGAIN = { to: 'waiting', afterMs: 5_000, isTry: true };
const LATER = { to: 'waiting', afterMs: 60_000, isTry: false };

describe('batch: what becomes of an item whose request has ended', () => {
  const reasons: readonly [Reason, number, object][] = [
    ['Completed', 200, END],
    ['ToolFailed', 200, END],
    ['OriginUnreachable', 404, END],
    ['SourceForbidden', 403, END],
    ['SourceTooLarge', 403, END],
    ['InvalidRequest', 400, END],
    ['DeadlineExceeded', 500, END],
    ['ToolUnavailable', 400, END],
    ['ToolUnavailable', 500, AGAIN],
    ['Cancelled', 499, END],
    ['Cancelled', 500, AGAIN],
    ['QueueTimeout', 429, LATER],
    ['QueueFull', 429, LATER],
    ['RateLimited', 429, LATER],
    ['RunnerLost', 500, AGAIN],
    ['InternalError', 503, AGAIN],
    ['QuotaExceeded', 403, { to: 'waiting', afterMs: 0, isTry: false, stop: 'QuotaExceeded' }],
    ['TokenInactive', 403, { to: 'waiting', afterMs: 0, isTry: false, stop: 'TokenInactive' }],
  ];
  for (const [reason, status, expected] of reasons)
    it(`${reason} with ${status}`, () => assert.deepEqual(judge(given({ reason, status })), expected));

  it('by the code of the tool, a temporary fault of the origin is tried again and no other is', () => {
    const temporary = ['dns', 'connect', 'closed', 'stalled', 'offline', 'timeout-origin', 'changed'];
    const statuses = { 'http-408': true, 'http-429': true, 'http-500': true, 'http-503': true, 'http-404': false };
    const codes = {
      ...statuses,
      ...Object.fromEntries(Object.keys(CAUSES).map((code) => [code, temporary.includes(code)])),
    };
    const tried = Object.keys(codes).map((code) => [code, judge(given({ code })).to === 'waiting']);
    assert.deepEqual(Object.fromEntries(tried), codes);
  });

  it('a result with errors is an end, whatever the code', () =>
    assert.deepEqual(judge(given({ state: 'with-errors', code: 'closed', status: 200 })), END));

  it('the last try is the end', () => {
    assert.deepEqual(judge(given({ code: 'dns', attempt: 2 })), { ...AGAIN, afterMs: 20_000 });
    assert.deepEqual(judge(given({ code: 'dns', attempt: 3 })), END);
    assert.deepEqual(judge(given({ reason: 'QueueTimeout', attempt: 3 })), LATER);
  });

  it('while the batch is being cancelled nothing is tried again', () => {
    for (const end of [given({ code: 'dns' }), given({ reason: 'QuotaExceeded' })])
      assert.deepEqual(judge(end, false), END);
  });

  it('pauses grow fourfold to at most five minutes, and are at most halved at random', () => {
    const after = (attempt: number, random: number) => {
      const verdict = verdictOf(given({ code: 'dns', attempt }), { tries: 99, goesOn: true }, () => random);
      return verdict.to === 'waiting' ? verdict.afterMs : null;
    };
    assert.deepEqual(
      [1, 2, 3, 4, 9].map((attempt) => after(attempt, 0)),
      [5_000, 20_000, 80_000, 300_000, 300_000],
    );
    assert.equal(after(1, 1), 2_500);
  });
});
