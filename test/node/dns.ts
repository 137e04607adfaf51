import { NODE_NAME } from './layout.ts';
import type { Settings } from './settings.ts';

const labels = { 'k8s-app': 'kube-dns' };
const namespace = 'kube-system';
const account = { kind: 'ServiceAccount', name: 'coredns', namespace };

/**
 * Names in this zone are resolved by the host, where a test may listen without ever answering, as name servers of
 * webhook hosts can.
 */
export const SILENT_ZONE = 'silent.test';
export const SILENT_PORT = 5335;

/** Of the pod, which is what policies see. It runs as an unprivileged user, and therefore listens above 1024. */
export const DNS_PORT = 1053;

/** Without an outside name server, outside names are refused at once instead of timing out. */
function corefile(upstream: readonly string[], hostIp: string): string {
  const forward = upstream.length === 0 ? '' : `    forward . ${upstream.slice(0, 3).join(' ')}\n`;
  return `.:${DNS_PORT} {
    errors
    health :8080
    ready :8181
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 5
    }
    cache 30
${forward}}
${SILENT_ZONE}:${DNS_PORT} {
    errors
    forward . ${hostIp}:${SILENT_PORT} {
        max_fails 0
    }
}
`;
}

/** The cluster's name service. */
export function dnsManifests(settings: Settings, image: string, upstream: readonly string[]): unknown[] {
  const text = corefile(upstream, settings.hostIp);
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'coredns', namespace } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'system:coredns' },
      rules: [
        { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'system:coredns' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:coredns' },
      subjects: [account],
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'coredns', namespace }, data: { Corefile: text } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'coredns', namespace, labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          // CoreDNS reads its file only once, so a changed file needs a new pod.
          metadata: { labels, annotations: { 'probeyard.dev/corefile': text } },
          spec: {
            serviceAccountName: 'coredns',
            priorityClassName: 'system-cluster-critical',
            dnsPolicy: 'Default',
            // Further nodes may be drained or lost at any time.
            nodeSelector: { 'kubernetes.io/hostname': NODE_NAME },
            securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
            containers: [
              {
                name: 'coredns',
                image,
                imagePullPolicy: 'Never',
                args: ['-conf', '/etc/coredns/Corefile'],
                ports: [
                  { name: 'dns', containerPort: DNS_PORT, protocol: 'UDP' },
                  { name: 'dns-tcp', containerPort: DNS_PORT, protocol: 'TCP' },
                ],
                resources: { requests: { cpu: '10m', memory: '30Mi' }, limits: { memory: '170Mi' } },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ['ALL'] },
                },
                readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
                livenessProbe: { httpGet: { path: '/health', port: 8080 }, initialDelaySeconds: 30 },
                volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
              },
            ],
            volumes: [{ name: 'config', configMap: { name: 'coredns' } }],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace, labels },
      spec: {
        clusterIP: settings.dnsAddress,
        selector: labels,
        ports: [
          { name: 'dns', port: 53, targetPort: DNS_PORT, protocol: 'UDP' },
          { name: 'dns-tcp', port: 53, targetPort: DNS_PORT, protocol: 'TCP' },
        ],
      },
    },
  ];
}
