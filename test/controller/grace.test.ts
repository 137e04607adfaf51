import assert from 'node:assert/strict';
import { graceSeconds } from '../../src/controller/pools/pods.ts';
import type { Runner } from '../../src/controller/pools/runners.ts';

describe('the grace period of a runner pod that is ended', () => {
  const task = {} as NonNullable<Runner['task']>;
  for (const [what, why, phase, hasTask, expected] of [
    ['a silent one is killed', 'silent', 'busy', true, 0],
    ['one that never became ready is killed', 'never-ready', 'starting', false, 0],
    ['one whose agent has ended is killed', 'ended', 'idle', false, 0],
    ['one that still starts is killed after some seconds', 'old-generation', 'starting', false, 5],
    ['one that was given a job while it starts drains', 'old-generation', 'starting', true, undefined],
    ['an idle one drains', 'old-generation', 'idle', false, undefined],
    ['a busy one drains', 'age', 'busy', true, undefined],
    ['one that drains already goes on', 'pool-gone', 'draining', false, undefined],
  ] as const)
    it(what, () => assert.equal(graceSeconds(why, { phase, task: hasTask ? task : undefined }), expected));
});
