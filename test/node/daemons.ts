/** Names of the node's daemons, in the order they are started in. */
export const DAEMONS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'containerd',
  'kubelet',
  'kube-proxy',
];
