import assert from 'node:assert/strict';
import { pino } from 'pino';
import { WAITING, type ProbeJobStatus } from '../../../src/platform/kube/probe_job.ts';
import type { Condition } from '../../../src/platform/kube/resource.ts';
import { makeStanding } from '../../../src/service/api/probe/standing.ts';

const QUEUED = '2026-01-01T00:00:00.000Z';
const ADMITTED = '2026-01-01T00:00:02.000Z';
const LATER = '2026-01-01T00:00:05.000Z';

const conditions = (admitted: Condition['status'], reason: string, at: string): Condition[] => [
  { type: 'Admitted', status: admitted, reason, message: 'account 7 runs 2', lastTransitionTime: at },
  { type: 'Succeeded', status: 'Unknown', reason, message: 'account 7 runs 2', lastTransitionTime: at },
];

/** Tests only how the status is read. read_back.test.ts reads it from a real API server. */
const stands = (status: ProbeJobStatus | undefined) =>
  makeStanding({
    kube: {
      get: () => Promise.resolve({ metadata: { name: 'one' }, ...(status ? { status } : {}) }),
    } as never,
    settings: { namespace: 'n' } as never,
    log: pino({ level: 'silent' }),
    store: { clock: { now: () => Date.parse(LATER) } } as never,
  })({ id: 'one', submittedAt: new Date(QUEUED) });

describe('state of a request', () => {
  for (const [what, status, state, queueTime, admitted, running, reason] of [
    ['without a status is queued', undefined, 'queued', 5_000, null, null, null],
    [
      'is running from its admission on',
      { startedAt: ADMITTED, queueTimeMs: 2_000, attempts: 1 },
      'running',
      2_000,
      ADMITTED,
      ADMITTED,
      null,
    ],
    [
      'has no start time of a later attempt',
      { startedAt: ADMITTED, queueTimeMs: 2_000, attempts: 2 },
      'running',
      2_000,
      ADMITTED,
      null,
      null,
    ],
    [
      'has the time of its condition if no start is known',
      { queueTimeMs: 2_000 },
      'running',
      2_000,
      LATER,
      LATER,
      null,
    ],
  ] as const) {
    it(what, async () => {
      const made = await stands(status && { ...status, conditions: conditions('True', 'Running', LATER) });
      assert.deepEqual(
        [made.state, made.metadata.queue_time, made.steps, made.waiting],
        [state, queueTime, { queued: QUEUED, admitted, running }, reason],
      );
    });
  }

  for (const reason of WAITING) {
    it(`is queued for ${reason}, without names of accounts or pools`, async () => {
      const made = await stands({ conditions: conditions('False', reason, LATER) });
      assert.equal(made.state, 'queued');
      assert.equal(made.waiting?.reason, reason);
      assert.match(made.waiting.text, /^[a-z ,]+$/);
    });
  }

  it('has the progress of a job that runs, and none otherwise', async () => {
    const status = { startedAt: ADMITTED, progress: 43 };
    const running = await stands({ ...status, conditions: conditions('True', 'Running', LATER) });
    const waits = await stands({ ...status, conditions: conditions('True', 'NoRunner', LATER) });
    const early = await stands({ startedAt: ADMITTED, conditions: conditions('True', 'Running', LATER) });
    assert.deepEqual([running.progress, waits.progress, early.progress], [43, null, null]);
  });

  it('is queued again for a job that waits again, and keeps its admission', async () => {
    const made = await stands({ startedAt: ADMITTED, conditions: conditions('True', 'NoRunner', ADMITTED) });
    assert.deepEqual(
      [made.state, made.steps, made.waiting?.reason],
      ['queued', { queued: QUEUED, admitted: ADMITTED, running: null }, 'NoRunner'],
    );
  });
});
