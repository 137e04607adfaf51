import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { attempt, run } from './command.ts';
import { ensureRule, savedRules } from './iptables.ts';
import { BRIDGE } from './layout.ts';
import type { Settings } from './settings.ts';

/** What the node, the kubelet and kube-proxy set; `make down` puts the former values back. */
export const SYSCTLS: Readonly<Record<string, string | undefined>> = {
  'net/ipv4/ip_forward': '1',
  // Else a pod that calls a service with a pod on the same bridge sees the answer come from the wrong address.
  'net/bridge/bridge-nf-call-iptables': '1',
  // 250 pods with a watch each; the usual 128 run out.
  'fs/inotify/max_user_instances': '8192',
  // The kubelet sets these itself.
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
 * The pod bridge, made here and not by the CNI plugin: the node's own address is on it, so the cluster works the same
 * without any network, on a laptop that changes networks, and is not to be reached from outside. One masquerading rule
 * for all pods instead of the plugin's chain for each saves several runs of iptables per pod start.
 */
export async function ensureNetwork(settings: Settings): Promise<void> {
  for (const [name, wanted] of Object.entries(SYSCTLS)) if (wanted !== undefined) await setSysctl(name, wanted);
  const prefix = settings.podCidr.split('/')[1]!;
  if (!existsSync(`/sys/class/net/${BRIDGE}`)) await run('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
  await run('ip', ['address', 'replace', `${settings.hostIp}/${prefix}`, 'dev', BRIDGE]);
  await run('ip', ['link', 'set', BRIDGE, 'up']);
  // Cluster addresses work from the host too, even where it has no default route.
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

export async function removeBridge(): Promise<void> {
  if (existsSync(`/sys/class/net/${BRIDGE}`)) await attempt('ip', ['link', 'delete', BRIDGE]);
}

async function setSysctl(name: string, wanted: string): Promise<void> {
  const file = sysctlFile(name);
  const now = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (now === '' || now === wanted || Number(now) > Number(wanted)) return;
  await writeFile(file, wanted);
}
