import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cgroupFolders } from '../../node/cgroups.ts';
import { run } from '../../node/command.ts';
import { until } from '../../node/deadline.ts';
import { SIMULATED } from '../../node/layout.ts';
import { buildParts } from '../../node/build.ts';
import { program } from '../../node/control_plane.ts';
import { simulatedDown, simulatedUp } from '../simulated.ts';

describe('control plane with simulated nodes', function () {
  // The first run builds kwok.
  this.timeout(900_000);
  let kubectl: (...args: string[]) => Promise<string>;

  before(async () => {
    await simulatedDown();
    const { kubeconfig } = await simulatedUp({ nodes: 20, podStartSeconds: 0 });
    const built = await buildParts(['kubernetes']);
    kubectl = (...args) => run(program({ built }, 'kubernetes', 'kubectl'), ['--kubeconfig', kubeconfig, ...args]);
  });

  after(() => simulatedDown());

  it('has the requested nodes', async () => {
    const nodes = (await kubectl('get', 'nodes', '-o', 'name')).trim().split('\n');
    assert.equal(nodes.length, 20);
  });

  it('schedules pods on them, which run and end', async () => {
    await kubectl('create', 'deployment', 'many', '--image=localhost/none:1', '--replicas=100');
    await until(
      { what: '100 pods are ready', timeoutMs: 60_000 },
      async () => (await kubectl('get', 'deployment', 'many', '-o', 'jsonpath={.status.readyReplicas}')) === '100',
    );
    const used = new Set(
      (await kubectl('get', 'pods', '-o', 'jsonpath={range .items[*]}{.spec.nodeName}{"\\n"}{end}')).trim().split('\n'),
    );
    assert.equal(used.size, 20);
    await kubectl('delete', 'deployment', 'many');
    await until(
      { what: 'the pods are gone', timeoutMs: 60_000 },
      async () => (await kubectl('get', 'pods', '-o', 'name')) === '',
    );
  });

  it('leaves no process, cgroup or folder behind', async () => {
    await simulatedDown();
    assert.deepEqual(await cgroupFolders(SIMULATED.name), []);
    assert.deepEqual(
      [SIMULATED.stateDir, SIMULATED.runDir].filter((folder) => existsSync(folder)),
      [],
    );
  });
});
