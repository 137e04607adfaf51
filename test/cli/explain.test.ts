import assert from 'node:assert/strict';
import { explain, type Facts } from '../../src/cli/kubectl/explain_job.ts';
import type { Job, Pool } from '../../src/cli/kubectl/cluster_resources.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();
const condition = (type: string, reason: string, message: string) =>
  ({ type, status: 'Unknown', reason, message, lastTransitionTime: ago(60) }) as const;
const pool: Pool = {
  metadata: { name: 'short' },
  spec: { serves: { kinds: ['file'] }, minReady: 2, maxPods: 4 },
  status: { ready: 0, busy: 4, conditions: [condition('Ready', 'Filling', '0 of 2')] },
};
const labelled: Pool = { ...pool, spec: { ...pool.spec, serves: { kinds: ['file'], labels: { team: 'a' } } } };
const job = (reason: string | null, status: Job['status'] = {}, message = 'because'): Job => ({
  metadata: { name: 'film', uid: 'u', creationTimestamp: ago(60) },
  spec: { kind: 'file', source: { url: 'https://media.example.com/a.mp4?x=1' } },
  status: {
    ...(reason === null ? {} : { conditions: [condition('Succeeded', reason, message)] }),
    ...status,
  },
});
const of = (one: Job, more: Partial<Facts> = {}) =>
  explain({ job: one, pools: [pool], tools: [], events: [], now: NOW, ...more });

describe('why a job waits or failed', () => {
  const table: [string, Job, Partial<Facts>, string][] = [
    [
      'waits',
      job('TokenAtLimit'),
      {},
      'film waits because its token already runs as many jobs as it may at once: because',
    ],
    ['runs', job('Running', { startedAt: ago(30), attempts: 2 }), {}, 'film runs for 30.0 s, in attempt 2: because'],
    ['ended', job('Completed', { completedAt: ago(1), durationMs: 90 }), {}, 'film completed after 90 ms: because'],
    [
      'failed',
      job('RunnerLost', { completedAt: ago(1) }),
      {},
      'film failed because its runners were lost in every attempt: because',
    ],
    ['is unseen', job(null), {}, 'film was not taken in by any controller'],
    ['has no pool', job(null), { pools: [] }, 'film waits, and no pool serves its kind file'],
    [
      'has not the labels of the pool',
      job(null),
      { pools: [labelled] },
      'film waits, and no pool serves its kind file',
    ],
    ['is new', { ...job(null), metadata: { name: 'film', creationTimestamp: ago(1) } }, {}, 'film was just created'],
  ];
  for (const [name, one, more, sentence] of table)
    it(`a job that ${name}`, () => assert.equal(of(one, more).sentence, sentence));

  it('facts name the pool, its condition, the tools and the newest Events, and no query', () => {
    const { facts } = of(job('NoRunner', { tools: [{ name: 'ffprobe', version: '7.0' }] }), {
      events: [
        { reason: 'Old', message: 'a', lastTimestamp: ago(90) },
        { reason: 'New', message: 'b', lastTimestamp: ago(5), count: 3 },
      ],
    });
    const said = facts.map(({ about, says }) => `${about}: ${says}`);
    assert.ok(said.includes('source: https://media.example.com/a.mp4'));
    assert.ok(said.includes('pool short: 0 ready, 4 busy, 0 starting, at most 4; Filling: 0 of 2'));
    assert.ok(said.includes('ffprobe 7.0: there is no such ProbeTool'));
    assert.deepEqual(said.slice(-2), ['Event 5s: New: b (3 times)', 'Event 90s: Old: a']);
  });
});
