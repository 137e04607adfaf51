import { adminKubectl } from './admin_kubectl.ts';
import { builderStatus } from './builder.ts';
import { isBuilt } from './build.ts';
import { cgroupProcesses } from './cgroups.ts';
import { recordOf } from './daemon.ts';
import { DAEMONS, POLICY_DAEMON } from './daemons.ts';
import { JOINED, NODE } from './layout.ts';
import { NODE_PARTS } from './parts.ts';
import { wantedNodes } from './joined_nodes.ts';
import { readRunning } from './processes.ts';

/** `make status`: what runs, and the state that the cluster reports. */
async function status(): Promise<void> {
  let missing = 0;
  for (const name of DAEMONS) {
    const running = readRunning(recordOf(NODE, name));
    if (running === undefined) missing++;
    console.log(`${name.padEnd(24)} ${running === undefined ? '-' : `pid ${running.pid}`}`);
  }
  const enforcer = readRunning(recordOf(NODE, POLICY_DAEMON));
  if (enforcer !== undefined) console.log(`${POLICY_DAEMON.padEnd(24)} pid ${enforcer.pid}`);
  for (const [index, { layout }] of JOINED.slice(0, wantedNodes() - 1).entries()) {
    for (const name of ['containerd', 'kubelet', 'kube-proxy']) {
      const running = readRunning(recordOf(layout, name));
      console.log(`${`${name} of node ${index + 2}`.padEnd(24)} ${running === undefined ? '-' : `pid ${running.pid}`}`);
    }
  }
  if (missing === DAEMONS.length) {
    console.log('\nnothing is up: make up');
    process.exitCode = 1;
    return;
  }
  console.log(`${'all, pods included'.padEnd(24)} ${(await cgroupProcesses(NODE.name)).length} processes`);
  if (missing > 0) console.log('\nnot everything runs: make up starts what is missing, make logs shows why it ended');
  if (!(await isBuilt(NODE_PARTS))) return;
  const answer = await adminKubectl(5, ['get', 'nodes,pods', '-A']);
  console.log(`\n${answer.stdout || answer.stderr}`);
  const builder = await builderStatus();
  if (builder !== undefined) console.log(builder);
  if (missing > 0 || answer.code !== 0) process.exitCode = 1;
}

await status();
