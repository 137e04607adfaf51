import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Leaf } from './certs.ts';
import { flags, program, type ControlPlane } from './control_plane.ts';
import type { Daemon } from './daemon.ts';
import { answers } from './health.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { at, type Place } from './place.ts';
import { containerdSocket } from './runtime.ts';
import type { Settings } from './settings.ts';

export function nodeLeaves(places: readonly Place[]): Leaf[] {
  return [
    ...places.flatMap(({ kubelet: user, name, address }) => [
      { name: user, ca: 'ca', commonName: `system:node:${name}`, organization: 'system:nodes' },
      { name: `${user}-server`, ca: 'ca', commonName: name, hosts: [name, '127.0.0.1', address] },
    ]),
    { name: 'kube-proxy', ca: 'ca', commonName: 'system:kube-proxy' },
  ];
}

export function kubelet(plane: ControlPlane, settings: Settings, place: Place): Daemon {
  const { layout } = place;
  const config = join(layout.stateDir, 'config', 'kubelet.json');
  const root = join(layout.stateDir, 'kubelet');
  return at(place, {
    name: 'kubelet',
    program: program(plane, 'kubernetes', 'kubelet'),
    args: flags({
      config,
      kubeconfig: kubeconfigOf(layout, place.kubelet),
      'hostname-override': place.name,
      'node-ip': place.address,
      'root-dir': root,
      'cert-dir': join(root, 'pki'),
    }),
    files: {
      [config]: JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        address: place.address,
        port: layout.ports.kubelet,
        healthzBindAddress: place.healthAddress,
        healthzPort: layout.ports.kubeletHealth,
        authentication: {
          anonymous: { enabled: false },
          webhook: { enabled: true },
          x509: { clientCAFile: join(layout.pkiDir, 'ca.crt') },
        },
        authorization: { mode: 'Webhook' },
        tlsCertFile: join(layout.pkiDir, `${place.kubelet}-server.crt`),
        tlsPrivateKeyFile: join(layout.pkiDir, `${place.kubelet}-server.key`),
        containerRuntimeEndpoint: `unix://${containerdSocket(layout)}`,
        cgroupDriver: 'cgroupfs',
        // Pods are below a cgroup of ours, so that all of their processes can be ended with it.
        cgroupRoot: `/${layout.name}`,
        failCgroupV1: false,
        failSwapOn: false,
        clusterDNS: [settings.dnsAddress],
        clusterDomain: 'cluster.local',
        resolvConf: hostResolvConf(),
        maxPods: 250,
        podLogsDir: join(layout.logDir, 'pods'),
        volumePluginDir: join(layout.stateDir, 'volume-plugins'),
        containerLogMaxSize: '5Mi',
        containerLogMaxFiles: 2,
        serializeImagePulls: false,
        // Images are imported and not pulled, so garbage collection would lose them.
        imageGCHighThresholdPercent: 100,
        imageGCLowThresholdPercent: 99,
        evictionHard: {
          'memory.available': '100Mi',
          'nodefs.available': '500Mi',
          'imagefs.available': '500Mi',
          'nodefs.inodesFree': '1%',
        },
        shutdownGracePeriod: '0s',
        kubeAPIQPS: 100,
        kubeAPIBurst: 200,
      }),
    },
    ready: () => answers(`http://${place.healthAddress}:${layout.ports.kubeletHealth}/healthz`),
    readyWithinMs: 60_000,
  });
}

export function kubeProxy(plane: ControlPlane, settings: Settings, place: Place): Daemon {
  const { layout } = place;
  const config = join(layout.stateDir, 'config', 'kube-proxy.json');
  return at(place, {
    name: 'kube-proxy',
    program: program(plane, 'kubernetes', 'kube-proxy'),
    args: flags({ config }),
    files: {
      [config]: JSON.stringify({
        apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
        kind: 'KubeProxyConfiguration',
        clientConnection: { kubeconfig: kubeconfigOf(layout, 'kube-proxy') },
        hostnameOverride: place.name,
        mode: 'iptables',
        clusterCIDR: settings.podCidr,
        detectLocalMode: 'ClusterCIDR',
        // Node ports are open on the bridge only, not on the machine's network.
        nodePortAddresses: [`${place.address}/32`],
        iptables: { localhostNodePorts: false },
        healthzBindAddress: `${place.healthAddress}:${layout.ports.proxyHealth}`,
        metricsBindAddress: `127.0.0.1:${layout.ports.proxyMetrics}`,
        // Machines may refuse these, and a node of one user does not need them.
        conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
      }),
    },
    ready: () => answers(`http://${place.healthAddress}:${layout.ports.proxyHealth}/healthz`),
    readyWithinMs: 60_000,
  });
}

/** Name servers that a pod can reach, which excludes a stub on the host's loopback. */
export function hostResolvConf(): string {
  const upstream = '/run/systemd/resolve/resolv.conf';
  return nameServers('/etc/resolv.conf').length === 0 && existsSync(upstream) ? upstream : '/etc/resolv.conf';
}

export function nameServers(file: string): string[] {
  if (!existsSync(file)) return [];
  const found = [...readFileSync(file, 'utf8').matchAll(/^\s*nameserver\s+(\S+)/gm)].map((match) => match[1]!);
  return found.filter((address) => !address.startsWith('127.') && address !== '::1' && !address.startsWith('fe80:'));
}
