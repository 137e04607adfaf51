import assert from 'node:assert/strict';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { answering, Rig } from './agent_rig.ts';

describe('an agent whose tools container is not clean', function () {
  this.timeout(30_000);
  const rig = new Rig();
  before(() => rig.start());
  after(() => rig.stop());

  it('finishes its job, refuses the next and exits', async () => {
    // As with a process in uninterruptible sleep: all processes but one could be killed.
    const launcher = rig.launcher;
    rig.launcher = answering(launcher, { killAll: async () => (await launcher.killAll(), false) });
    await rig.newAgent();
    const { body } = await rig.run(rig.go([rig.script('echo "{}"')]));
    assert.equal(body.tools[0]?.success, true);
    await rig.agent.ended;
    assert.deepEqual(await rig.say(SUBJECT.go, rig.go([rig.script('echo "{}"')])), { ok: false, why: 'draining' });
    rig.launcher = launcher;
  });
});
