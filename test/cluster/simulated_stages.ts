/**
 * The life cycle of simulated nodes and pods: a node is Ready at once, a scheduled pod runs after `podStartSeconds`
 * with every container ready, and a deleted pod is gone at once. Nothing is executed.
 */
export function stages(podStartSeconds: number): string {
  const delay = podStartSeconds === 0 ? {} : { delay: { durationMilliseconds: Math.round(podStartSeconds * 1000) } };
  const alive = { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' };
  const all = [
    stage('node-ready', 'Node', {
      selector: {
        matchExpressions: [
          { key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: 'NotIn', values: ['True'] },
        ],
      },
      next: { statusTemplate: NODE_READY },
    }),
    stage('pod-running', 'Pod', {
      selector: { matchExpressions: [alive, { key: '.status.phase', operator: 'In', values: ['Pending'] }] },
      ...delay,
      next: { statusTemplate: POD_RUNNING },
    }),
    stage('pod-gone', 'Pod', {
      selector: { matchExpressions: [{ key: '.metadata.deletionTimestamp', operator: 'Exists' }] },
      next: { finalizers: { empty: true }, delete: true },
    }),
  ];
  return all.map((one) => JSON.stringify(one)).join('\n---\n');
}

function stage(name: string, kind: string, spec: object): unknown {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: { resourceRef: { apiGroup: 'v1', kind }, ...spec },
  };
}

const NODE_READY = `
conditions:
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ Now | Quote }}
{{ end }}
addresses:
- type: Hostname
  address: {{ .metadata.name | Quote }}
- type: InternalIP
  address: {{ NodeIP | Quote }}
`;

const POD_RUNNING = `
{{ $address := PodIP }}
phase: Running
startTime: {{ Now | Quote }}
hostIP: {{ NodeIP | Quote }}
podIP: {{ $address | Quote }}
podIPs:
- ip: {{ $address | Quote }}
conditions:
{{ range $type := splitList "," "Initialized,ContainersReady,Ready" }}
- type: {{ $type | Quote }}
  status: "True"
  lastTransitionTime: {{ Now | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  started: true
  restartCount: 0
  state:
    running:
      startedAt: {{ Now | Quote }}
{{ end }}
`;
