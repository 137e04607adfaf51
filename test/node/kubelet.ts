import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Leaf } from './certs.ts';
import { flags, program, type ControlPlane } from './control_plane.ts';
import type { Daemon } from './daemon.ts';
import { answers } from './health.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { NODE_NAME } from './layout.ts';
import { containerdSocket } from './runtime.ts';
import type { Settings } from './settings.ts';

export function nodeLeaves(settings: Settings): Leaf[] {
  return [
    { name: 'kubelet', ca: 'ca', commonName: `system:node:${NODE_NAME}`, organization: 'system:nodes' },
    { name: 'kubelet-server', ca: 'ca', commonName: NODE_NAME, hosts: [NODE_NAME, '127.0.0.1', settings.hostIp] },
    { name: 'kube-proxy', ca: 'ca', commonName: 'system:kube-proxy' },
  ];
}

export function kubelet(plane: ControlPlane, settings: Settings): Daemon {
  const { layout } = plane;
  const config = join(layout.stateDir, 'config', 'kubelet.json');
  const root = join(layout.stateDir, 'kubelet');
  return {
    name: 'kubelet',
    program: program(plane, 'kubernetes', 'kubelet'),
    args: flags({
      config,
      kubeconfig: kubeconfigOf(layout, 'kubelet'),
      'hostname-override': NODE_NAME,
      'node-ip': settings.hostIp,
      'root-dir': root,
      'cert-dir': join(root, 'pki'),
    }),
    files: {
      [config]: JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        address: settings.hostIp,
        port: layout.ports.kubelet,
        healthzBindAddress: '127.0.0.1',
        healthzPort: layout.ports.kubeletHealth,
        authentication: {
          anonymous: { enabled: false },
          webhook: { enabled: true },
          x509: { clientCAFile: join(layout.pkiDir, 'ca.crt') },
        },
        authorization: { mode: 'Webhook' },
        tlsCertFile: join(layout.pkiDir, 'kubelet-server.crt'),
        tlsPrivateKeyFile: join(layout.pkiDir, 'kubelet-server.key'),
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
    ready: () => answers(`http://127.0.0.1:${layout.ports.kubeletHealth}/healthz`),
    readyWithinMs: 60_000,
  };
}

export function kubeProxy(plane: ControlPlane, settings: Settings): Daemon {
  const { layout } = plane;
  const config = join(layout.stateDir, 'config', 'kube-proxy.json');
  return {
    name: 'kube-proxy',
    program: program(plane, 'kubernetes', 'kube-proxy'),
    args: flags({ config }),
    files: {
      [config]: JSON.stringify({
        apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
        kind: 'KubeProxyConfiguration',
        clientConnection: { kubeconfig: kubeconfigOf(layout, 'kube-proxy') },
        hostnameOverride: NODE_NAME,
        mode: 'iptables',
        clusterCIDR: settings.podCidr,
        detectLocalMode: 'ClusterCIDR',
        // Node ports are open on the bridge only, not on the machine's network.
        nodePortAddresses: [`${settings.hostIp}/32`],
        iptables: { localhostNodePorts: false },
        healthzBindAddress: `127.0.0.1:${layout.ports.proxyHealth}`,
        metricsBindAddress: `127.0.0.1:${layout.ports.proxyMetrics}`,
        // Machines may refuse these, and a node of one user does not need them.
        conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
      }),
    },
    ready: () => answers(`http://127.0.0.1:${layout.ports.proxyHealth}/healthz`),
    readyWithinMs: 60_000,
  };
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
