import { join } from 'node:path';
import { buildParts } from './build.ts';
import { attempt, type CommandResult } from './command.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { NODE } from './layout.ts';
import { NODE_PARTS } from './parts.ts';

/** Asks the running cluster as its administrator, and returns the answer whatever its exit code. */
export async function adminKubectl(seconds: number, args: readonly string[]): Promise<CommandResult> {
  const kubectl = join((await buildParts(NODE_PARTS)).get('kubernetes')!, 'kubectl');
  return attempt(kubectl, ['--kubeconfig', kubeconfigOf(NODE, 'admin'), `--request-timeout=${seconds}s`, ...args]);
}
