/** Names of the node's daemons, in their start order. */
export const DAEMONS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'containerd',
  'kubelet',
  'kube-proxy',
];

/** Enforces NetworkPolicies, where that is wanted. */
export const POLICY_DAEMON = 'network-policies';
