import { readFile, writeFile } from 'node:fs/promises';
import { attempt, run } from './command.ts';
import { ensureRule, savedRules } from './iptables.ts';
import { BRIDGE } from './layout.ts';
import { hasLink } from './links.ts';
import type { Settings } from './settings.ts';

/** Settings of the node, the kubelet and kube-proxy. `make down` restores the former values. */
export const SYSCTLS: Readonly<Record<string, string | undefined>> = {
  'net/ipv4/ip_forward': '1',
  // Otherwise a pod that calls a service with a pod on the same bridge gets the reply from the wrong address.
  'net/bridge/bridge-nf-call-iptables': '1',
  // 250 pods with a watch each exceed the usual 128.
  'fs/inotify/max_user_instances': '8192',
  // Set by the kubelet.
  'vm/overcommit_memory': undefined,
  'vm/panic_on_oom': undefined,
  'kernel/panic': undefined,
  'kernel/panic_on_oops': undefined,
  'kernel/keys/root_maxkeys': undefined,
  'kernel/keys/root_maxbytes': undefined,
  'net/ipv4/conf/all/route_localnet': undefined,
};

export function sysctlFile(name: string): string {
  return `/proc/sys/${name}`;
}

/**
 * The pod bridge. It is made here and not by the CNI plugin, because it has the node's own address. The cluster
 * therefore works without any network and on a laptop that changes networks, and is unreachable from outside. One
 * masquerading rule for all pods, instead of the plugin's chain for each, saves several runs of iptables per pod start.
 */
export async function ensureNetwork(settings: Settings): Promise<void> {
  for (const [name, wanted] of Object.entries(SYSCTLS)) if (wanted !== undefined) await setSysctl(name, wanted);
  const prefix = settings.podCidr.split('/')[1]!;
  if (!hasLink(BRIDGE)) await run('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
  await run('ip', ['address', 'replace', `${settings.hostIp}/${prefix}`, 'dev', BRIDGE]);
  if (settings.apiIp !== undefined) await run('ip', ['address', 'replace', `${settings.apiIp}/32`, 'dev', BRIDGE]);
  await run('ip', ['link', 'set', BRIDGE, 'up']);
  // Makes service addresses reachable from the host, even without a default route.
  await run('ip', ['route', 'replace', settings.serviceCidr, 'dev', BRIDGE, 'src', settings.hostIp]);
  await ensureRule('nat', 'POSTROUTING', 'append', [
    '-s',
    settings.podCidr,
    '!',
    '-d',
    settings.podCidr,
    '-j',
    'MASQUERADE',
  ]);
  if (/^:FORWARD DROP/m.test(await savedRules('iptables'))) {
    for (const direction of ['-i', '-o'])
      await ensureRule('filter', 'FORWARD', 'insert', [direction, BRIDGE, '-j', 'ACCEPT']);
  }
}

/** A node's uplink ends with its network namespace, too, some time after the last process. */
export async function removeLink(name: string): Promise<void> {
  if (hasLink(name)) await attempt('ip', ['link', 'delete', name]);
}

async function setSysctl(name: string, wanted: string): Promise<void> {
  const file = sysctlFile(name);
  const now = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (now === '' || now === wanted || Number(now) > Number(wanted)) return;
  await writeFile(file, wanted);
}
