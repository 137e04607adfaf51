/**
 * What the local node consists of. A part is one folder of `parts/`, built by one command into one or more programs.
 */
export interface Part {
  name: string;
  /** The `--version` of its programs. The version itself is pinned in go.mod. */
  version: string;
  programs: readonly Program[];
  tags?: string;
  ldflags?: string;
  cgo?: boolean;
  /** The part whose source it builds, where that is not its own: with its own go.mod, of another version. */
  sourceOf?: string;
  /** A module that is published without files that its own build generates. These replace them, by their path in it. */
  completed?: { module: string; files: Readonly<Record<string, string>> };
  /** Duration of a first build on two cores with cold caches, for progress lines only. */
  coldSeconds: number;
}

export interface Program {
  name: string;
  /** A Go package or a C file. */
  source: string;
  /** Further names of the program, which does what it is called by. */
  links?: readonly string[];
}

/** The newest version that any part's go.mod requires. */
export const GO_NEEDED = '1.26.6';

const KUBERNETES = '1.36.3';
/** What the programs say for `--version`. */
function stamped(version: string): string {
  const [major, minor] = version.split('.');
  const set = (name: string, value = '') => `-X k8s.io/component-base/version.${name}=${value}`;
  return [set('gitVersion', `v${version}`), set('gitMajor', major), set('gitMinor', minor)].join(' ');
}

/**
 * Kubernetes is the last of the required ones, so that a problem with the compilers shows in the first seconds, not
 * after five minutes.
 */
export const PARTS = {
  pause: part({ name: 'pause', version: '1', programs: [{ name: 'pause', source: 'pause.c' }], coldSeconds: 1 }),
  podcheck: part({ name: 'podcheck', version: '1', programs: [{ name: 'podcheck', source: '.' }], coldSeconds: 15 }),
  runc: part({
    name: 'runc',
    version: '1.5.2',
    programs: [{ name: 'runc', source: 'github.com/opencontainers/runc' }],
    tags: 'seccomp',
    ldflags: '-X main.version=1.5.2',
    cgo: true,
    coldSeconds: 16,
  }),
  etcd: part({
    name: 'etcd',
    version: '3.6',
    programs: [{ name: 'etcd', source: 'go.etcd.io/etcd/server/v3' }],
    coldSeconds: 32,
  }),
  containerd: part({
    name: 'containerd',
    version: '2.4.2',
    programs: ['containerd', 'containerd-shim-runc-v2', 'ctr'].map((name) => ({
      name,
      source: `github.com/containerd/containerd/v2/cmd/${name}`,
    })),
    tags: 'no_btrfs no_devmapper no_zfs',
    ldflags: '-X github.com/containerd/containerd/v2/version.Version=v2.4.2',
    coldSeconds: 60,
  }),
  kubernetes: kubernetes(KUBERNETES),
  // For `make up NETWORK_POLICY=1`.
  'network-policies': part({
    name: 'network-policies',
    version: '0.8.0',
    programs: [{ name: 'network-policies', source: '.' }],
    coldSeconds: 90,
  }),
  coredns: part({ name: 'coredns', version: '1.15.0', programs: [{ name: 'coredns', source: '.' }], coldSeconds: 60 }),
  helm: part({
    name: 'helm',
    version: '4',
    programs: [{ name: 'helm', source: 'helm.sh/helm/v4/cmd/helm' }],
    coldSeconds: 120,
  }),
  'nats-server': part({
    name: 'nats-server',
    version: '2.15',
    programs: [{ name: 'nats-server', source: 'github.com/nats-io/nats-server/v2' }],
    coldSeconds: 20,
  }),
  mediamtx: part({
    name: 'mediamtx',
    version: '1.15.3',
    programs: [{ name: 'mediamtx', source: '.' }],
    completed: {
      module: 'github.com/bluenviron/mediamtx',
      files: { 'internal/core/VERSION': 'VERSION', 'internal/servers/hls/hls.min.js': 'hls.min.js' },
    },
    coldSeconds: 270,
  }),
  versitygw: part({
    name: 'versitygw',
    version: '1.8.0',
    programs: [{ name: 'versitygw', source: 'github.com/versity/versitygw/cmd/versitygw' }],
    coldSeconds: 120,
  }),
  registry: part({
    name: 'registry',
    version: '3.1.2',
    programs: [{ name: 'registry', source: 'github.com/distribution/distribution/v3/cmd/registry' }],
    coldSeconds: 60,
  }),
  // For `make gitops`: what Argo CD and Flux do with manifests.
  gitops: part({
    name: 'gitops',
    // Between 3.5 and 3.6 of Argo CD, the last before its modules need Go 1.27.
    version: '2026-09-14',
    programs: [{ name: 'gitops', source: '.' }],
    coldSeconds: 300,
  }),
  // For the test of ProbeBatches in its queues.
  kueue: part({ name: 'kueue', version: '0.17.0', programs: [{ name: 'kueue', source: '.' }], coldSeconds: 400 }),
  // For the test of the WorkflowTemplate in docs/guides/argo-workflows.md.
  argo: part({ name: 'argo', version: '4.0.5', programs: [{ name: 'argo', source: '.' }], coldSeconds: 240 }),
  // For `make matrix`, which runs the tests on other versions, too.
  'kubernetes-1.33': kubernetes('1.33.13', 'kubernetes-1.33'),
  'kubernetes-1.34': kubernetes('1.34.4', 'kubernetes-1.34'),
  'kubernetes-1.35': kubernetes('1.35.4', 'kubernetes-1.35'),
  'kubernetes-1.37': kubernetes('1.37.2', 'kubernetes-1.37'),
  'helm-3': part({
    name: 'helm-3',
    version: '3',
    programs: [{ name: 'helm', source: 'helm.sh/helm/v3/cmd/helm' }],
    coldSeconds: 120,
  }),
  kwok: part({
    name: 'kwok',
    version: '0.8',
    programs: [{ name: 'kwok', source: 'sigs.k8s.io/kwok/cmd/kwok' }],
    coldSeconds: 100,
  }),
} as const;

export type PartName = keyof typeof PARTS;

/** The order in which `make up` builds. */
export const NODE_PARTS: readonly PartName[] = [
  'pause',
  'podcheck',
  'runc',
  'etcd',
  'containerd',
  'kubernetes',
  'coredns',
  'helm',
];
export const SIMULATED_PARTS: readonly PartName[] = ['etcd', 'kubernetes', 'kwok'];

/** The daemons as one program, from one source for all versions. */
function kubernetes(version: string, name = 'kubernetes'): Part {
  return part({
    name,
    version,
    programs: [
      {
        name: 'kubernetes',
        source: '.',
        links: ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy'],
      },
      { name: 'kubectl', source: 'k8s.io/kubernetes/cmd/kubectl' },
    ],
    ldflags: stamped(version),
    coldSeconds: 335,
    ...(name === 'kubernetes' ? {} : { sourceOf: 'kubernetes' }),
  });
}

function part(definition: Part): Part {
  return definition;
}
