/**
 * A pod that is renewed between two accounts: what a taken-over tool of the first one left, and what one of the second
 * finds (`reuse.renew: process`).
 */
import assert from 'node:assert/strict';
import { ready, withPool } from '../../bench/cluster/pool.ts';
import { podOf } from '../../src/platform/bus/runner_id.ts';
import { ANNOTATION } from '../../src/service/controller/pools/pod.ts';
import { PODS } from '../../src/platform/kube/client.ts';
import { hasNode } from '../cluster/broken_images.ts';
import { RUNNERS, cluster, eventually, jobOf, type Cluster } from '../cluster/fixture.ts';
import { settingsOfController } from '../cluster/settings_of_controller.ts';
import type { Attempt } from './attacker.ts';
import { finding, leaving } from './left_behind.ts';
import { record } from './record.ts';
import { attack, install, runners, uninstall, type Attacked } from './taken_over.ts';

/** The walls are those of the pod, and the launcher has put them up again. */
const walled: Attempt[] = [
  { name: "the launcher's memory", do: 'read|/proc/1/mem', expect: /^(?:EACCES|EPERM)$/ },
  { name: "the launcher's environment", do: 'read|/proc/1/environ', expect: /^(?:EACCES|EPERM)$/ },
  { name: 'tracing the launcher', do: 'ptrace|1', expect: /^(?:EACCES|EPERM)$/ },
  { name: 'files that it inherited', do: 'list|/proc/self/fd', expect: /^0 1 2 3$/ },
  { name: "the launcher's socket", do: 'unix|/run/probeyard/launcher.sock', expect: /^(?:EACCES|EPERM)$/ },
  { name: 'a port of its own', do: 'bind||0', expect: /^(?:EACCES|EPERM)$/ },
];

describe('a pod that is renewed between two accounts', function () {
  this.timeout(300_000);
  let c: Cluster;
  let first: Attacked;
  let second: Attacked;
  let gate: { open: () => void; restored: Promise<void> } | undefined;

  before(async function () {
    if (!hasNode()) {
      console.log('    skipped: images can be brought to the local node alone, and it does not run here');
      this.skip();
    }
    const found = await cluster();
    if ((await settingsOfController(found.kube)).toolsDelivery === 'bundled') {
      console.log('    skipped: its tool is an image of its own, and here all tools are in one image');
      await found.close();
      this.skip();
    }
    c = found;
    await install(c);
    // One place, for which the second account has to wait.
    const { promise: until, resolve: open } = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const restored = withPool(c, { minReady: 1, maxPods: 1, reuse: { scope: 'account', renew: 'process' } }, () => {
      entered.resolve();
      return until;
    });
    gate = { open, restored };
    await entered.promise;
    await eventually('the pool has one runner', 120, async () => (await runners(c)).filter(isShort).length === 1);
    await ready(c, 1);
    const [a, b] = [await c.newToken(), await c.newToken()];
    first = await attack(c, a.token, leaving);
    second = await attack(c, b.token, [...walled, ...finding]);
  });
  after(async () => {
    gate?.open();
    await gate?.restored;
    if (!c) return;
    await uninstall(c);
    await c.close();
  });

  const isShort = ({ metadata }: { metadata: { name: string } }) => metadata.name.startsWith('runner-short-');
  const runnerOf = async ({ answer }: Attacked): Promise<string> =>
    (await jobOf(c.kube, answer.json.metadata?.request_id ?? '')).status?.runner?.uid ?? '';

  it('both jobs ran in one pod, each on a runner of its own', async () => {
    assert.equal(first.got['its own source'], 'read', first.answer.text.slice(0, 600));
    assert.equal(second.got['its own source'], 'read', second.answer.text.slice(0, 600));
    const [one, other] = [await runnerOf(first), await runnerOf(second)];
    assert.equal(podOf(one), podOf(other));
    assert.notEqual(one, other);
    const pod = await c.kube.get(PODS, second.pod, { namespace: RUNNERS });
    assert.equal(`${pod.metadata.uid}_${pod.metadata.annotations?.[ANNOTATION.life]}`, other);
    assert.equal(
      pod.status?.containerStatuses?.every(({ restartCount }) => restartCount === 0),
      true,
    );
  });

  for (const [title, attempts, of] of [
    ['the first account may leave something', leaving, () => first],
    ['the second one finds none of it', finding, () => second],
    ['the second one is walled in like any other', walled, () => second],
  ] as const)
    describe(title, () => {
      for (const { name, expect } of attempts)
        it(name, () => {
          const got = of().got[name];
          assert.ok(got !== undefined, `nothing was told: ${of().answer.text.slice(0, 600)}`);
          record({ group: 'renewed', attempt: name, expected: String(expect), got });
          assert.match(got, expect);
        });
    });

  it('a source with credentials ends the pod', async () => {
    const { token } = await c.newToken();
    const held = await attack(c, token, [{ name: 'processes', do: 'processes' }], { userInfo: 'user:password@' });
    assert.equal(held.got['its own source'], 'read', held.answer.text.slice(0, 600));
    const { token: next } = await c.newToken();
    const after_ = await attack(c, next, [{ name: 'processes', do: 'processes' }]);
    const [one, other] = [await runnerOf(held), await runnerOf(after_)];
    record({
      group: 'renewed',
      attempt: 'the pod that read a source with credentials',
      expected: 'ended',
      got: podOf(one) === podOf(other) ? 'renewed' : 'ended',
    });
    assert.notEqual(podOf(one), podOf(other));
  });
});
