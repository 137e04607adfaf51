import assert from 'node:assert/strict';
import { graceSeconds } from '../../src/controller/pools/pods.ts';
import { HEARD_MS } from '../../src/controller/pools/plan.ts';
import type { Runner } from '../../src/controller/pools/runners.ts';

describe('the grace period of a runner pod that is ended', () => {
  const task = {} as NonNullable<Runner['task']>;
  for (const [what, why, phase, hasTask, expected, knownMs = HEARD_MS + 1] of [
    ['a silent one is killed', 'silent', 'busy', true, 0],
    ['one that never became ready is killed', 'never-ready', 'starting', false, 0],
    ['one whose agent has ended is killed', 'ended', 'idle', false, 0],
    ['one that still starts is killed after some seconds', 'old-generation', 'starting', false, 5],
    ['one that a new leader has not heard of yet may work, and drains', 'pool-gone', 'starting', false, undefined, 0],
    ['one that was given a job while it starts drains', 'old-generation', 'starting', true, undefined],
    ['an idle one drains', 'old-generation', 'idle', false, undefined],
    ['a busy one drains', 'age', 'busy', true, undefined],
    ['one that drains already goes on', 'pool-gone', 'draining', false, undefined],
  ] as [string, string, Runner['phase'], boolean, number | undefined, number?][])
    it(what, () => {
      const runner = { phase, task: hasTask ? task : undefined, createdAt: 1_000 };
      assert.equal(graceSeconds(why, runner, 1_000 + knownMs), expected);
    });
});
