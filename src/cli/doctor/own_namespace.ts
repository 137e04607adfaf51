/** What a preflight needs before Probeyard is installed: a namespace, under the policies that the chart would bring. */
import { RUN_LABEL } from './jobs.ts';

/** As `probeyard.originsEgress` of the chart. */
const CLOSED: Readonly<Record<string, readonly string[]>> = {
  '0.0.0.0/0': [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  '::/0': ['::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
};

const DNS = {
  to: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    },
  ],
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};

export function ownNamespace(name: string, id: string): object[] {
  const labels = { 'app.kubernetes.io/name': 'probeyard', [RUN_LABEL]: id };
  const restricted = ['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { ...labels, ...(Object.fromEntries(restricted) as object) } },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'probeyard-runner', namespace: name, labels },
      spec: {
        podSelector: { matchLabels: { 'app.kubernetes.io/component': 'runner' } },
        policyTypes: ['Ingress', 'Egress'],
        egress: [
          DNS,
          { to: Object.entries(CLOSED).map(([cidr, except]) => ({ ipBlock: { cidr, except: [...except] } })) },
        ],
      },
    },
  ];
}
