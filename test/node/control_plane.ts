import { join } from 'node:path';
import type { Built } from './build.ts';
import { ensureCertificates, ensureServiceAccountKey, type Leaf } from './certs.ts';
import type { Daemon } from './daemon.ts';
import { answers, credentials } from './health.ts';
import { kubeconfigOf, writeKubeconfig } from './kubeconfig.ts';
import type { Layout } from './layout.ts';

export interface ControlPlane {
  layout: Layout;
  built: Built;
  /** The address that the API server listens on. */
  address: string;
  /** Whether pods can reach it. If so, it is the endpoint of the service `kubernetes`. */
  reachable: boolean;
  serviceCidr: string;
  /** The first address of the service range: that of the service `kubernetes`. */
  serviceAddress: string;
  /** Writes an audit log with one line of metadata per request. */
  audit: boolean;
}

const AUTHORITIES = ['ca', 'etcd-ca', 'front-proxy-ca'];

/** Certificates and kubeconfigs of the control plane, with `more` for programs beside it. */
export async function ensureIdentity(plane: ControlPlane, more: readonly Leaf[] = []): Promise<void> {
  const { layout, address, serviceAddress } = plane;
  const local = ['localhost', '127.0.0.1'];
  const leaves: Leaf[] = [
    {
      name: 'apiserver',
      ca: 'ca',
      commonName: 'kube-apiserver',
      hosts: [
        'kubernetes',
        'kubernetes.default',
        'kubernetes.default.svc',
        'kubernetes.default.svc.cluster.local',
        ...new Set([...local, address, serviceAddress]),
      ],
    },
    {
      name: 'apiserver-kubelet-client',
      ca: 'ca',
      commonName: 'kube-apiserver-kubelet-client',
      organization: 'system:masters',
    },
    { name: 'apiserver-etcd-client', ca: 'etcd-ca', commonName: 'kube-apiserver-etcd-client' },
    { name: 'etcd', ca: 'etcd-ca', commonName: 'etcd', hosts: local },
    { name: 'front-proxy-client', ca: 'front-proxy-ca', commonName: 'front-proxy-client' },
    { name: 'controller-manager-server', ca: 'ca', commonName: 'kube-controller-manager', hosts: local },
    { name: 'scheduler-server', ca: 'ca', commonName: 'kube-scheduler', hosts: local },
    { name: 'controller-manager', ca: 'ca', commonName: 'system:kube-controller-manager' },
    { name: 'scheduler', ca: 'ca', commonName: 'system:kube-scheduler' },
    { name: 'admin', ca: 'ca', commonName: 'probeyard-admin', organization: 'system:masters' },
    ...more,
  ];
  await ensureServiceAccountKey(layout.pkiDir);
  await ensureCertificates(layout.pkiDir, AUTHORITIES, leaves);
  const clients = [
    'controller-manager',
    'scheduler',
    'admin',
    ...more.filter(({ hosts }) => hosts === undefined).map(({ name }) => name),
  ];
  for (const user of clients) await writeKubeconfig(layout, serverOf(plane), user);
}

function serverOf({ address, layout }: ControlPlane): string {
  return `https://${address}:${layout.ports.api}`;
}

export function etcd(plane: ControlPlane): Daemon {
  const { layout } = plane;
  const { pkiDir, ports } = layout;
  const client = `https://127.0.0.1:${ports.etcd}`;
  const peer = `https://127.0.0.1:${ports.etcdPeer}`;
  const certificate = join(pkiDir, 'etcd.crt');
  const key = join(pkiDir, 'etcd.key');
  const authority = join(pkiDir, 'etcd-ca.crt');
  return {
    name: 'etcd',
    program: program(plane, 'etcd', 'etcd'),
    args: flags({
      name: layout.name,
      'data-dir': join(layout.stateDir, 'etcd'),
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': `${layout.name}=${peer}`,
      'client-cert-auth': 'true',
      'cert-file': certificate,
      'key-file': key,
      'trusted-ca-file': authority,
      'peer-client-cert-auth': 'true',
      'peer-cert-file': certificate,
      'peer-key-file': key,
      'peer-trusted-ca-file': authority,
      'log-level': 'warn',
      // A single member has no peers to agree with.
      'heartbeat-interval': '100',
      'quota-backend-bytes': String(4 * 1024 ** 3),
    }),
    ready: async () => answers(`${client}/health`, await credentials(pkiDir, 'etcd-ca', 'apiserver-etcd-client')),
    readyWithinMs: 30_000,
  };
}

const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
};

export function apiServer(plane: ControlPlane): Daemon {
  const { layout, address } = plane;
  const pki = (file: string) => join(layout.pkiDir, file);
  const policyFile = join(layout.stateDir, 'config', 'audit-policy.json');
  return {
    name: 'kube-apiserver',
    program: program(plane, 'kubernetes', 'kube-apiserver'),
    args: flags({
      'bind-address': address,
      'secure-port': String(layout.ports.api),
      'etcd-servers': `https://127.0.0.1:${layout.ports.etcd}`,
      'etcd-cafile': pki('etcd-ca.crt'),
      'etcd-certfile': pki('apiserver-etcd-client.crt'),
      'etcd-keyfile': pki('apiserver-etcd-client.key'),
      'tls-cert-file': pki('apiserver.crt'),
      'tls-private-key-file': pki('apiserver.key'),
      'client-ca-file': pki('ca.crt'),
      'kubelet-client-certificate': pki('apiserver-kubelet-client.crt'),
      'kubelet-client-key': pki('apiserver-kubelet-client.key'),
      'kubelet-certificate-authority': pki('ca.crt'),
      // Otherwise logs and exec look up the name of the node in DNS.
      'kubelet-preferred-address-types': 'InternalIP',
      'requestheader-client-ca-file': pki('front-proxy-ca.crt'),
      'requestheader-allowed-names': 'front-proxy-client',
      'requestheader-username-headers': 'X-Remote-User',
      'requestheader-group-headers': 'X-Remote-Group',
      'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
      'proxy-client-cert-file': pki('front-proxy-client.crt'),
      'proxy-client-key-file': pki('front-proxy-client.key'),
      'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
      'service-account-key-file': pki('service-account.pub'),
      'service-account-signing-key-file': pki('service-account.key'),
      'service-cluster-ip-range': plane.serviceCidr,
      'authorization-mode': 'Node,RBAC',
      'enable-admission-plugins': 'NodeRestriction',
      'allow-privileged': 'true',
      // An API server that pods cannot reach advertises an address from the range for examples, and no endpoint.
      'advertise-address': plane.reachable ? address : '198.51.100.1',
      ...(!plane.reachable && { 'endpoint-reconciler-type': 'none' }),
      ...(plane.audit && {
        'audit-policy-file': policyFile,
        'audit-log-path': auditLog(layout),
        'audit-log-maxsize': '200',
        'audit-log-maxbackup': '2',
      }),
    }),
    ...(plane.audit && { files: { [policyFile]: JSON.stringify(AUDIT_POLICY) } }),
    ready: async () => answers(`${serverOf(plane)}/readyz`, await credentials(layout.pkiDir, 'ca', 'admin')),
    readyWithinMs: 90_000,
  };
}

function auditLog(layout: Layout): string {
  return join(layout.logDir, 'audit.log');
}

export function controllerManager(plane: ControlPlane): Daemon {
  const { layout } = plane;
  const pki = (file: string) => join(layout.pkiDir, file);
  return {
    name: 'kube-controller-manager',
    program: program(plane, 'kubernetes', 'kube-controller-manager'),
    args: flags({
      ...secureServer(plane, 'controller-manager', layout.ports.controllerManager),
      'cluster-name': layout.name,
      'root-ca-file': pki('ca.crt'),
      'service-account-private-key-file': pki('service-account.key'),
      'cluster-signing-cert-file': pki('ca.crt'),
      'cluster-signing-key-file': pki('ca.key'),
      'use-service-account-credentials': 'true',
    }),
    ready: () => healthy(layout, layout.ports.controllerManager),
    readyWithinMs: 60_000,
  };
}

export function scheduler(plane: ControlPlane): Daemon {
  const { layout } = plane;
  return {
    name: 'kube-scheduler',
    program: program(plane, 'kubernetes', 'kube-scheduler'),
    args: flags(secureServer(plane, 'scheduler', layout.ports.scheduler)),
    ready: () => healthy(layout, layout.ports.scheduler),
    readyWithinMs: 60_000,
  };
}

function secureServer({ layout }: ControlPlane, user: string, port: number): Record<string, string> {
  const kubeconfig = kubeconfigOf(layout, user);
  return {
    kubeconfig,
    'authentication-kubeconfig': kubeconfig,
    'authorization-kubeconfig': kubeconfig,
    'bind-address': '127.0.0.1',
    'secure-port': String(port),
    'tls-cert-file': join(layout.pkiDir, `${user}-server.crt`),
    'tls-private-key-file': join(layout.pkiDir, `${user}-server.key`),
    'client-ca-file': join(layout.pkiDir, 'ca.crt'),
    // There is a single instance of each, and an election would only delay the start.
    'leader-elect': 'false',
    profiling: 'false',
  };
}

async function healthy(layout: Layout, port: number): Promise<boolean> {
  return answers(`https://127.0.0.1:${port}/healthz`, await credentials(layout.pkiDir, 'ca', 'admin'));
}

export function program(
  { built }: Pick<ControlPlane, 'built'>,
  part: Parameters<Built['get']>[0],
  name: string,
): string {
  const folder = built.get(part);
  if (folder === undefined) throw new Error(`${part} was not built`);
  return join(folder, name);
}

export function flags(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}
