import assert from 'node:assert/strict';
import { graceSeconds } from '../../src/service/controller/pools/pods.ts';
import { HEARD_MS } from '../../src/service/controller/pools/plan.ts';
import type { Runner } from '../../src/service/controller/pools/runners.ts';

describe('grace period of a runner pod that is being deleted', () => {
  const task = {} as NonNullable<Runner['task']>;
  for (const [what, why, phase, hasTask, expected, knownMs = HEARD_MS + 1] of [
    ['a silent runner is killed at once', 'silent', 'busy', true, 0],
    ['a runner that never became ready is killed at once', 'never-ready', 'starting', false, 0],
    ['a runner whose agent has exited is killed at once', 'ended', 'idle', false, 0],
    ['a starting runner is killed after a few seconds', 'old-generation', 'starting', false, 5],
    [
      'a runner without a heartbeat to a new leader may be busy, and drains',
      'pool-gone',
      'starting',
      false,
      undefined,
      0,
    ],
    ['a starting runner that was given a job drains', 'old-generation', 'starting', true, undefined],
    ['an idle runner drains', 'old-generation', 'idle', false, undefined],
    ['a busy runner drains', 'age', 'busy', true, undefined],
    ['a draining runner goes on draining', 'pool-gone', 'draining', false, undefined],
  ] as [string, string, Runner['phase'], boolean, number | undefined, number?][])
    it(what, () => {
      const runner = { phase, task: hasTask ? task : undefined, createdAt: 1_000 };
      assert.equal(graceSeconds(why, runner, 1_000 + knownMs), expected);
    });
});
