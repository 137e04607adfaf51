/**
 * Makes many large calls at once that are not answered in time, and a small one that waits behind them on the same
 * connection. The child process of leave_sent.test.ts.
 */
import { once } from 'node:events';
import { CONFIG_MAPS, isKubeError, NAMESPACES } from '../../src/platform/kube/client.ts';
import { kubeClient } from './kubeconfig.ts';

const [kubeconfig, namespace] = process.argv.slice(2) as [string, string];
/** Together more than sockets and their buffers take. */
const CALLS = 80;
const BYTES = 400_000;

const tell = (what: string) => process.stdout.write(`${what}\n`);
const client = await kubeClient({ kubeconfig, namespace });
await client.get(NAMESPACES, namespace);
tell('connected');
await once(process.stdin, 'data');
const calls = Array.from({ length: CALLS }, (_, at) =>
  client
    .create(
      CONFIG_MAPS,
      { metadata: { name: `large-${at}` }, data: { text: 'x'.repeat(BYTES) } },
      { dryRun: true, deadlineMs: 1_000 },
    )
    .then(
      () => 'made',
      (error: unknown) => (isKubeError(error) ? error.code : String(error)),
    ),
);
const last = client.get(NAMESPACES, namespace, { deadlineMs: 60_000 });
tell(`timed out: ${(await Promise.all(calls)).filter((outcome) => outcome === 'timeout').length}`);
await last;
tell('answered');
await client.close();
process.stdin.destroy();
