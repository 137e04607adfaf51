/** After failed tests on the local cluster: what the cluster itself complains of, because it is stopped right after. */
import { createReadStream, existsSync } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { adminKubectl } from './admin_kubectl.ts';
import { logOf } from './daemon.ts';
import { NODE } from './layout.ts';

interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}
interface Described {
  kind: string;
  metadata: { name: string };
  status?: { conditions?: Condition[] };
}

/** The status of each condition of a node or a tool while nothing is wrong. */
const EXPECTED: Record<string, string> = { Ready: 'True', Available: 'True' };
const LONGEST = 300;
/** What a daemon logs when it does something that no test asked for, and what tests then see as a missing image. */
const LOGGED: readonly { daemon: string; what: string; pattern: RegExp }[] = [
  {
    daemon: 'kubelet',
    what: 'the kubelet was short of space',
    pattern: /Eviction manager: (?:attempting|must)|Attempting to delete unused images|Removing image to free/,
  },
  {
    daemon: 'containerd',
    what: 'containerd could not follow its events, which tell Kubernetes of imported images',
    pattern: /Failed to handle (?:backOff )?event|is in backoff, enqueue/,
  },
];

/** The conditions that are not as they should be, a line each. */
export const unexpected = (items: readonly Described[]): string[] =>
  items.flatMap(({ kind, metadata, status }) =>
    (status?.conditions ?? [])
      .filter(({ type, status: is }) => is !== (EXPECTED[type] ?? 'False'))
      .map((condition) =>
        `${kind} ${metadata.name} is ${condition.type}=${condition.status}: ${condition.reason}: ${condition.message}`
          .replaceAll(/\s+/g, ' ')
          .slice(0, LONGEST),
      ),
  );

/** Of TCP, over all connections since the machine started. */
const COUNTED = ['ListenOverflows', 'ListenDrops', 'TCPSynRetrans', 'TCPTimeouts'];

/** What the kernel counted of connections that were lost: `TcpExt: NAMES`, and below it their values. */
export function lostConnections(netstat: string): string {
  const [names = [], values = []] = netstat
    .split('\n')
    .filter((line) => line.startsWith('TcpExt: '))
    .map((line) => line.split(' '));
  return COUNTED.map((name) => `${name} ${values[names.indexOf(name)] ?? '?'}`).join(', ');
}

/** The first and the last line that match, and how many there are. */
export async function logged(log: string, what: string, pattern: RegExp): Promise<string[]> {
  if (!existsSync(log)) return [];
  const found: string[] = [];
  let count = 0;
  for await (const line of createInterface(createReadStream(log)))
    if (pattern.test(line)) {
      count++;
      found[Math.min(found.length, 1)] = line.slice(0, LONGEST);
    }
  return count === 0 ? [] : [`${what}, ${count} lines, the first and the last:`, ...found];
}

export async function complaints(): Promise<string> {
  const { bavail, bsize } = await statfs(NODE.stateDir);
  const lines = [`free on the disk of the node: ${((bavail * bsize) / 1e9).toFixed(1)} GB`];
  lines.push(`connections of the node: ${lostConnections(await readFile('/proc/net/netstat', 'utf8'))}`);
  const { code, stdout, stderr } = await adminKubectl(10, ['get', 'nodes,probetools', '-A', '-o', 'json']);
  if (code === 0) lines.push(...unexpected((JSON.parse(stdout) as { items: Described[] }).items));
  else lines.push(`kubectl: ${stderr.trim().slice(0, LONGEST)}`);
  for (const { daemon, what, pattern } of LOGGED) lines.push(...(await logged(logOf(NODE, daemon), what, pattern)));
  return `what the cluster said after the failures:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}
