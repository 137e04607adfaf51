import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { ClusterError } from './cluster_error.ts';
import { run } from './command.ts';
import { writeWhole } from './daemon.ts';
import type { Layout } from './layout.ts';
import { wantsPolicies } from './network_policies.ts';
import { readState } from './state_file.ts';
import { addressIn, chooseSubnet, sizeOf } from './subnets.ts';

/**
 * Chosen by the first `make up` and kept until `make down`, because certificates and pods depend on these addresses.
 */
const Settings = Type.Object({
  podCidr: Type.String(),
  serviceCidr: Type.String(),
  /** The host's address on the pod bridge: for the node, the API server, and demo and test origins. */
  hostIp: Type.String(),
  /** The API server's own address, where NetworkPolicies are enforced: those of the chart open the host's. */
  apiIp: Type.Optional(Type.String()),
  serviceAddress: Type.String(),
  dnsAddress: Type.String(),
});
export type Settings = Static<typeof Settings>;

const POD_CIDRS = ['10.188.0.0/16', '10.189.0.0/16', '172.29.0.0/16', '192.168.192.0/20'];
const SERVICE_CIDRS = ['10.96.0.0/16', '10.97.0.0/16', '172.30.0.0/16', '192.168.208.0/20'];

export async function readSettings(layout: Layout): Promise<Settings | undefined> {
  return readState(Settings, join(layout.stateDir, 'settings.json'));
}

export async function ensureSettings(layout: Layout, enforcesPolicies = wantsPolicies()): Promise<Settings> {
  const before = await readSettings(layout);
  const enforced = before?.apiIp !== undefined;
  if (before !== undefined && enforced !== enforcesPolicies)
    throw new ClusterError(
      'OTHER_NODE_IS_UP',
      `this node enforces ${enforced ? 'NetworkPolicies: make up NETWORK_POLICY=1' : 'no NetworkPolicies: make up'}, ` +
        'or make down first',
    );
  if (before !== undefined) return before;
  const used = await usedSubnets();
  const podCidr = chooseSubnet(POD_CIDRS, used);
  const serviceCidr = chooseSubnet(SERVICE_CIDRS, used);
  if (podCidr === undefined || serviceCidr === undefined) {
    throw new ClusterError(
      'NO_FREE_SUBNET',
      `every address range that the node could use for pods (${POD_CIDRS.join(', ')}) or services ` +
        `(${SERVICE_CIDRS.join(', ')}) is routed elsewhere on this machine (ip route)`,
    );
  }
  const settings = {
    podCidr,
    serviceCidr,
    hostIp: addressIn(podCidr, 1),
    // Beyond those of the first node's pods. There is no other node.
    ...(enforcesPolicies && { apiIp: addressIn(podCidr, sizeOf(podCidr) / 2 + 1) }),
    serviceAddress: addressIn(serviceCidr, 1),
    dnsAddress: addressIn(serviceCidr, 10),
  };
  await writeWhole(join(layout.stateDir, 'settings.json'), JSON.stringify(settings));
  return settings;
}

async function usedSubnets(): Promise<string[]> {
  const routes: unknown = JSON.parse((await run('ip', ['-4', '-json', 'route', 'show', 'table', 'all'])) || '[]');
  if (!Array.isArray(routes)) return [];
  return routes.map((route: { dst?: unknown }) => String(route.dst ?? '')).filter((dst) => dst !== 'default');
}
