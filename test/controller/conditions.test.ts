import assert from 'node:assert/strict';
import { isAdmitted, isFinished } from '../../src/platform/kube/conditions.ts';
import { admittedStatus, finishedStatus, waitingStatus } from '../../src/service/controller/leader/job_status.ts';

const T1 = '2026-01-01T00:00:01.000Z';
const T2 = '2026-01-01T00:00:02.000Z';
const T3 = '2026-01-01T00:00:03.500Z';
const admission = {
  holder: 'c-0',
  epoch: 3,
  token: 5,
  account: 2,
  runner: { pod: 'p', uid: 'u' },
  attempt: 1,
  queueTimeMs: 42,
  resultPath: '/v1/probe/x',
  tools: [{ name: 'ffprobe' as const, version: '9.0' }],
};
const finish = { reason: 'Completed' as const, summary: 'ok', tools: [], resultPath: '/v1/probe/x', batch: '1-1' };
const reasons = (status: { conditions?: { type: string; status: string; reason: string }[] }) =>
  (status.conditions ?? []).map(({ type, status: value, reason }) => `${type}=${value}/${reason}`);

describe('status of a ProbeJob', () => {
  it('goes from waiting to running to completed, each with its reason', () => {
    const waiting = waitingStatus(undefined, 'TokenAtLimit', 'token 1 runs 10 of its 10', T1);
    assert.deepEqual(reasons(waiting), ['Admitted=False/TokenAtLimit', 'Succeeded=Unknown/TokenAtLimit']);
    assert.equal(isFinished(waiting) || isAdmitted(waiting), false);

    assert.deepEqual(reasons(waitingStatus(undefined, 'AccountAtLimit', 'account 1 runs 40 of its 40', T1)), [
      'Admitted=False/AccountAtLimit',
      'Succeeded=Unknown/AccountAtLimit',
    ]);

    const running = { ...waiting, ...admittedStatus(waiting, admission, T2) };
    assert.deepEqual(reasons(running), ['Admitted=True/Admitted', 'Succeeded=Unknown/Running']);
    assert.equal(isAdmitted(running), true);
    assert.deepEqual(running.admittedBy, { holder: 'c-0', epoch: 3, token: 5, account: 2 });
    assert.equal(
      running.conditions?.find(({ type }) => type === 'Succeeded')?.lastTransitionTime,
      T1,
      'Unknown stayed Unknown',
    );
    assert.match(running.conditions?.[1]?.message ?? '', /ffprobe 9.0 on p/);

    const done = { ...running, ...finishedStatus(running, finish, T3) };
    assert.deepEqual(reasons(done), ['Admitted=True/Admitted', 'Succeeded=True/Completed']);
    assert.equal(done.durationMs, 1500);
    assert.equal(isFinished(done), true);
    assert.equal(isAdmitted(done), false, 'a finished job holds no slot');
  });

  it('keeps the start and the queue time on a retry, and counts the attempt', () => {
    const first = admittedStatus(undefined, admission, T1);
    const second = admittedStatus(
      first,
      { ...admission, attempt: 2, queueTimeMs: 999, runner: { pod: 'q', uid: 'v' } },
      T3,
    );
    assert.equal(second.startedAt, T1);
    assert.equal(second.queueTimeMs, 42);
    assert.match(second.conditions?.[1]?.message ?? '', /on q \(attempt 2\)/);
  });

  it('a job that never ran is not admitted and failed, both with the reason', () => {
    const status = finishedStatus(undefined, { ...finish, reason: 'QueueTimeout', summary: 'waited 60 s' }, T2);
    assert.deepEqual(reasons(status), ['Admitted=False/QueueTimeout', 'Succeeded=False/QueueTimeout']);
    assert.equal(status.durationMs, undefined);
    assert.equal(isFinished(status), true);
  });

  it('a job of two sources names them when it runs, and each tool once', () => {
    const running = admittedStatus(undefined, { ...admission, ofTwo: true }, T1);
    assert.match(running.conditions?.[1]?.message ?? '', /^ffprobe 9\.0 of two sources on p$/);
    const run = { name: 'ffprobe' as const, version: '9.0', durationMs: 20 };
    const other = { ...run, version: '7.1', success: true };
    const tools = [{ ...run, success: true }, other, { ...run, success: false }];
    assert.deepEqual(finishedStatus(running, { ...finish, tools }, T2).tools, [
      { ...run, success: false, durationMs: 40 },
      other,
    ]);
  });

  it('keeps conditions of other writers', () => {
    const foreign = {
      conditions: [{ type: 'Noted', status: 'True' as const, reason: 'R', message: '', lastTransitionTime: T1 }],
    };
    assert.deepEqual(reasons(admittedStatus(foreign, admission, T2))[0], 'Noted=True/R');
  });

  it("removes from a tool's text the characters that YAML cannot carry", () => {
    const status = finishedStatus(
      undefined,
      { ...finish, reason: 'ToolFailed', summary: 'moov\u0000 atom\u001b[31m not\u202e found' },
      T1,
    );
    assert.equal(status.summary, 'moov  atom [31m not  found');
    assert.equal(status.conditions?.find(({ type }) => type === 'Succeeded')?.message, status.summary);
  });

  it('cuts a summary to the length that the schema allows', () => {
    assert.equal(finishedStatus(undefined, { ...finish, summary: 'x'.repeat(5000) }, T1).summary?.length, 1024);
  });
});
