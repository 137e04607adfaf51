/** The end of `make up`: waits for the proofs of the tools, makes one real probe, and says what a person does next. */
import { Resolver } from 'node:dns/promises';
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PROBE_TOOLS, SECRETS, type KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { adminKubectl } from './admin_kubectl.ts';
import { ClusterError } from './cluster_error.ts';
import { SLOWNESS } from '../patience.ts';
import { envFile, writeEnvironment } from './environment.ts';
import type { Settings } from './settings.ts';
import { FIRST_SAMPLE } from '../../src/service/samples/list.ts';
import { say, timed } from '../../images/progress.ts';

export const NODE_PORT = 30_080;
const NAMESPACE = 'probeyard';
/** The origin of samples, as the chart names it. */
const SAMPLE = `http://probeyard-samples.${NAMESPACE}.svc/${FIRST_SAMPLE}`;

async function until<T>(what: string, seconds: number, look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + SLOWNESS * seconds * 1000;
  let last: unknown;
  while (performance.now() < end) {
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      last = error;
    }
    await delay(250);
  }
  throw new ClusterError(
    'not-ready',
    `${what}: not within ${seconds} s${last instanceof Error ? ` (${last.message})` : ''}`,
  );
}

/** Waits until the proofs of at least `least` tools have ended, and reports refused ones. */
export async function toolsProven(kube: KubeClient, least = 1): Promise<void> {
  const tools = await until('the tools are proven', 300, async () => {
    const { items } = await kube.listAll(PROBE_TOOLS, { namespace: NAMESPACE });
    const settled = items.every(({ status }) =>
      status?.conditions?.some(({ type, status: value }) => type === 'Available' && value !== 'Unknown'),
    );
    return items.length >= least && settled ? items : undefined;
  });
  const refused = tools.filter(
    ({ status }) => !status?.conditions?.some(({ type, status: value }) => type === 'Available' && value === 'True'),
  );
  say(`${tools.length - refused.length} tool versions are Available`);
  for (const { metadata, status } of refused)
    say(`  ${metadata.name}: ${status?.conditions?.find(({ type }) => type === 'Available')?.message ?? 'refused'}`);
}

async function adminToken(kube: KubeClient): Promise<string> {
  const { data = {} } = await kube.get(SECRETS, 'probeyard-admin', { namespace: NAMESPACE });
  return Buffer.from(data['token'] ?? '', 'base64').toString('utf8');
}

const urlOf = (hostIp: string): string => `http://${hostIp}:${NODE_PORT}`;

export async function firstProbe(kubeconfig: string, { hostIp, dnsAddress }: Settings): Promise<void> {
  const kube = await kubeClient({ kubeconfig, namespace: NAMESPACE });
  try {
    const url = urlOf(hostIp);
    await timed('the tools are proven', () => toolsProven(kube));
    await timed('the API is ready', () =>
      until('the API is ready', 180, async () =>
        (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000 * SLOWNESS) })).ok ? true : undefined,
      ),
    );
    // A cluster DNS that has just lost the API server hears of a new Service later.
    const names = new Resolver({ timeout: 1_000 * SLOWNESS, tries: 1 });
    names.setServers([dnsAddress]);
    await timed('the samples have a name', () =>
      until('the samples have a name', 60, () => names.resolve4(`${new URL(SAMPLE).hostname}.cluster.local`)),
    );
    const token = await adminToken(kube);
    await writeEnvironment({ PROBEYARD_URL: url, PROBEYARD_TOKEN: token, PROBEYARD_ADMIN_TOKEN: token });
    const ask = (): Promise<Response> =>
      fetch(`${url}/v1/probe/file`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ url: SAMPLE }),
        signal: AbortSignal.timeout(130_000),
      });
    const started = performance.now();
    const first = await ask();
    const text = await first.text();
    const took = Math.round(performance.now() - started);
    if (first.status !== 200 || (JSON.parse(text) as { success?: boolean }).success !== true)
      throw new ClusterError('first-probe-failed', `the first probe was answered with ${first.status}: ${text}`);
    const again = performance.now();
    await (await ask()).arrayBuffer();
    say(`the first probe took ${took} ms, the same on the warm runner ${Math.round(performance.now() - again)} ms`);
  } finally {
    await kube.close();
  }
}

/**
 * Where the console is, a first request, and where to read on. A sign-in link is printed for a person alone: what is
 * not a terminal may be a log, and gets the command that makes one.
 */
export async function nextSteps(hostIp: string): Promise<string> {
  const url = urlOf(hostIp);
  const env = `. ${relative(process.cwd(), envFile)}`;
  const command = [
    '-n',
    NAMESPACE,
    'exec',
    'deployment/probeyard-api',
    '--',
    'node',
    'src/main.ts',
    'sign-in-link',
    url,
  ];
  const made = process.stdout.isTTY ? await adminKubectl(20, command) : undefined;
  const link =
    made?.code === 0
      ? `${made.stdout.trim()} (signs you in, once and within an hour)`
      : `${url}/app/ (a link to sign in: ${env}; kubectl ${command.join(' ')})`;
  const curl = `curl "$PROBEYARD_URL/v1/probe/file" -H "Authorization: Bearer $PROBEYARD_TOKEN" -d url=${SAMPLE}`;
  return [
    `console   ${link}`,
    `request   ${env}; ${curl}`,
    `read on   ${url}/docs/quickstart, and for this cluster docs/local-node.md`,
  ].join('\n');
}
