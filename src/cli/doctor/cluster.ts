/** What kubectl alone finds out: versions, nodes, the pods of DNS, and how long images took. */
import { dnsPods, type DnsPods } from '../../service/doctor/checks/dns_pods.ts';
import { kubernetes } from '../../service/doctor/checks/kubernetes.ts';
import { nodes } from '../../service/doctor/checks/nodes.ts';
import { pull } from '../../service/doctor/checks/pull.ts';
import { findingOf, type Check, type Finding } from '../../service/doctor/finding.ts';
import { Failure } from '../failure.ts';
import type { Kubectl } from '../kubectl/kubectl.ts';
import type { Event, List } from '../kubectl/resources.ts';

interface Node {
  status?: { nodeInfo?: { architecture?: string; containerRuntimeVersion?: string } };
}
interface Service {
  spec: { selector?: Record<string, string> };
}
interface Slice {
  ports?: { port?: number }[];
}

/** Namespace and name of the service, as clusters have it. */
const DNS_SERVICES = [
  ['kube-system', 'kube-dns'],
  ['openshift-dns', 'dns-default'],
  ['kube-system', 'rke2-coredns-rke2-coredns'],
] as const;

/** Where kubectl may not look, nothing is known. */
async function checked<Facts>(check: Check<Facts>, read: () => Promise<Facts>): Promise<Finding> {
  try {
    return findingOf(check, check.verdict(await read()));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return findingOf(check, { status: 'unknown', found: error.message });
  }
}

async function version(kubectl: Kubectl): Promise<string> {
  const { serverVersion } = JSON.parse(await kubectl.run(['version', '--output=json'])) as {
    serverVersion?: { gitVersion?: string };
  };
  return serverVersion?.gitVersion ?? 'unknown';
}

async function dnsPodsOf(kubectl: Kubectl): Promise<DnsPods | undefined> {
  for (const [namespace, name] of DNS_SERVICES) {
    const at = `--namespace=${namespace}`;
    const { items } = await kubectl.get<List<Service>>('services', at, `--field-selector=metadata.name=${name}`);
    const labels = items[0]?.spec.selector;
    if (labels === undefined) continue;
    const slices = await kubectl.get<List<Slice>>(
      'endpointslices',
      at,
      `--selector=kubernetes.io/service-name=${name}`,
    );
    const ports = slices.items.flatMap((slice) => slice.ports ?? []).flatMap(({ port }) => port ?? []);
    // 9153 and the like serve metrics.
    const asked = [...new Set(ports)].filter((port) => [53, 1053, 5353, 8053].includes(port)).toSorted((a, b) => a - b);
    return { namespace, labels, ports: asked.length === 0 ? [53] : asked };
  }
  return undefined;
}

export async function clusterFindings(
  kubectl: Kubectl,
  events: readonly Event[],
  found: readonly Finding[],
): Promise<Finding[]> {
  const volumes = found.find(({ id }) => id === 'image-volume')?.status;
  const imageVolumes = volumes === undefined || volumes === 'unknown' ? undefined : volumes === 'pass';
  const messages = events.filter(({ reason }) => reason === 'Pulled').map(({ message = '' }) => message);
  return [
    await checked(kubernetes, async () => ({ version: await version(kubectl), imageVolumes })),
    await checked(nodes, async () => {
      const { items } = await kubectl.get<List<Node>>('nodes');
      return items.map(({ status }) => ({
        architecture: status?.nodeInfo?.architecture ?? '',
        runtime: status?.nodeInfo?.containerRuntimeVersion ?? 'unknown',
      }));
    }),
    await checked(dnsPods, () => dnsPodsOf(kubectl)),
    findingOf(pull, pull.verdict({ messages })),
  ];
}
