import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { endBuilder } from './builder.ts';
import { ClusterError, explain } from './cluster_error.ts';
import { envFile } from './environment.ts';
import { checkPlatform } from './host.ts';
import { localDir, NODE } from './layout.ts';
import { locked, NODE_LOCK } from './lock.ts';
import { snapshotFile } from './node.ts';
import { say } from '../../images/progress.ts';
import type { Difference } from './snapshot.ts';
import { anythingOf, removeNode } from './teardown.ts';

/** `make down`: ends exactly what `make up` started, and compares the machine with its state before. */
export async function down(): Promise<void> {
  checkPlatform();
  // It holds the lock while it upgrades the release.
  await endBuilder();
  await locked(NODE_LOCK, async () => {
    if (!(await anythingOf(NODE))) return say('nothing is up');
    const { ours, others } = await removeNode(NODE, snapshotFile);
    for (const difference of others) say(`changed meanwhile, not by the node: ${describe(difference)}`);
    for (const path of [envFile, join(localDir, 'kubeconfig'), join(localDir, 'bin')])
      await rm(path, { recursive: true, force: true });
    if (ours.length > 0) throw new ClusterError('LEFTOVERS', `this stayed behind:\n${ours.map(describe).join('\n')}`);
    say(
      'down: no process, mount, link, rule or cgroup of the node is left ' +
        '(built programs stay cached for the next make up)',
    );
  });
}

function describe({ list, added, removed }: Difference): string {
  const changes = [...added.map((item) => `+ ${item}`), ...removed.map((item) => `- ${item}`)];
  const more = changes.length > 5 ? ` and ${changes.length - 5} more` : '';
  return `${list}: ${changes.slice(0, 5).join('; ')}${more}`;
}

if (import.meta.main) {
  const work = ['', 'local'].includes(process.env['CLUSTER'] ?? '')
    ? down()
    : import('./current.ts').then(({ downCurrent }) => downCurrent());
  await work.catch((error: unknown) => {
    console.error(`\nmake down: ${explain(error)}`);
    process.exitCode = 1;
  });
}
