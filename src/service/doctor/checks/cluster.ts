/** Checks of what the API server says of a cluster: the command line reads it, and no pod runs. */
import { shownMs, type Check, type Values } from '../finding.ts';

interface Version {
  /** `v1.36.0`, as the API server reports it. */
  version: string;
  /** What the check of image volumes said; undefined: it did not run. */
  imageVolumes?: boolean | undefined;
}

/** Image volumes are on by default from here. */
const BY_DEFAULT = 35;
const LEAST_MINOR = 33;

export const kubernetes: Check<Version> = {
  id: 'kubernetes',
  title: 'Kubernetes',
  wanted: `1.${LEAST_MINOR} or later; 1.${BY_DEFAULT} to mount tools as images by default`,
  why: 'The chart uses no older API. Below 1.35 the feature gate ImageVolume decides.',
  verdict({ version, imageVolumes }) {
    const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
    if (major === undefined || minor === undefined) return { status: 'unknown', found: version };
    if (major !== '1' || Number(minor) < LEAST_MINOR) return { status: 'fail', found: version };
    if (Number(minor) >= BY_DEFAULT) return { status: 'pass', found: version };
    if (imageVolumes === true) return { status: 'pass', found: version, set: { 'tools.forceImageVolume': true } };
    return { status: 'pass', found: version, set: { 'tools.delivery': 'bundled' } };
  },
};

export interface NodeFacts {
  architecture: string;
  /** `containerd://2.1.3`. */
  runtime: string;
}

/** The first versions that mount images as volumes. */
const LEAST_RUNTIME: Readonly<Record<string, readonly [number, number]>> = { containerd: [2, 1], 'cri-o': [1, 31] };

function isKnown(runtime: string): boolean {
  const [, name = '', major, minor] = /^([\w-]+):\/\/v?(\d+)\.(\d+)/.exec(runtime) ?? [];
  const least = LEAST_RUNTIME[name];
  if (least === undefined) return false;
  return Number(major) > least[0] || (Number(major) === least[0] && Number(minor) >= least[1]);
}

export const nodes: Check<readonly NodeFacts[]> = {
  id: 'nodes',
  title: 'nodes',
  wanted: 'amd64 or arm64 nodes with containerd 2.1 or later, or CRI-O 1.31 or later',
  why: 'The tools are built for these two. Older runtimes mount no images: set tools.delivery to bundled there.',
  verdict(all) {
    const of = (wanted: string) => all.filter(({ architecture }) => architecture === wanted);
    const [amd64, arm64] = [of('amd64'), of('arm64')];
    const runtimes = [...new Set(all.map(({ runtime }) => runtime))].toSorted();
    const found = `${all.length}, of these ${amd64.length} amd64, ${arm64.length} arm64: ${runtimes.join(', ')}`;
    const used = amd64.length > 0 ? amd64 : arm64;
    if (used.length === 0) return { status: 'fail', found };
    const status = used.every(({ runtime }) => isKnown(runtime)) ? 'pass' : 'warn';
    return { status, found, ...(used === arm64 ? { set: { arch: 'arm64' } } : {}) };
  },
};

const WARN_MS = 30_000;

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, µs: 0.001 };

/** `1m2.5s` as milliseconds. */
function msOf(duration: string): number {
  const parts = duration.matchAll(/([\d.]+)(h|ms|m|µs|s)/g);
  return [...parts].reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit!]!, 0);
}

/** `Successfully pulled image "x" in 1.2s (1.5s including waiting). Image size: 300 bytes.` */
export function pullIn(message: string): { ms: number; bytes: number | undefined } | undefined {
  const [, alone] = /^Successfully pulled image ".*?" in (\S+)/.exec(message) ?? [];
  if (alone === undefined) return undefined;
  const [, bytes] = /Image size: (\d+) bytes/.exec(message) ?? [];
  return { ms: msOf(alone), bytes: bytes === undefined ? undefined : Number(bytes) };
}

/** `messages`: of the Events `Pulled` of the preflight's pods. */
export const pull: Check<{ messages: readonly string[] }> = {
  id: 'pull',
  title: 'image pull time',
  wanted: `within ${shownMs(WARN_MS)}`,
  why: 'A new node starts no runner before it has the images. runners.prePull keeps them on each node.',
  verdict({ messages }) {
    const pulls = messages.flatMap((message) => pullIn(message) ?? []);
    const slowest = pulls.toSorted((a, b) => b.ms - a.ms)[0];
    if (messages.length === 0) return { status: 'unknown', found: 'no node said that it has the image' };
    if (!slowest) return { status: 'unknown', found: 'the nodes that were used had the image before' };
    const size = slowest.bytes === undefined ? '' : ` for ${Math.round(slowest.bytes / 1e6)} MB`;
    const found = `${shownMs(slowest.ms)}${size}`;
    if (slowest.ms <= WARN_MS) return { status: 'pass', found };
    return { status: 'warn', found, set: { 'runners.prePull.enabled': true } };
  },
};

export interface DnsPods {
  namespace: string;
  labels: Readonly<Record<string, string>>;
  ports: readonly number[];
}

/** As in the chart's values. */
const DEFAULT: DnsPods = { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' }, ports: [53] };

const shownLabels = (labels: DnsPods['labels']): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

function valuesFor({ namespace, labels, ports }: DnsPods): Values | undefined {
  const values: Values = {
    ...(namespace === DEFAULT.namespace ? {} : { 'networkPolicy.dns.namespace': namespace }),
    ...(shownLabels(labels) === shownLabels(DEFAULT.labels)
      ? {}
      : // The chart's own labels stay unless they are set to null.
        { 'networkPolicy.dns.podLabels': { 'k8s-app': null, ...labels } }),
    ...(ports.join() === DEFAULT.ports.join() ? {} : { 'networkPolicy.dns.ports': ports }),
  };
  return Object.keys(values).length === 0 ? undefined : values;
}

/** Undefined: no service of DNS was found under the names that clusters give it. */
export const dnsPods: Check<DnsPods | undefined> = {
  id: 'dns-pods',
  title: 'DNS pods',
  wanted: 'the pods that networkPolicy.dns names',
  why: 'The policies of the chart let every pod ask them, and no other server of names.',
  verdict(pods) {
    if (pods === undefined) return { status: 'unknown', found: 'no service of DNS under a known name' };
    const found = `${pods.namespace}, ${shownLabels(pods.labels)}, port ${pods.ports.join(' and ')}`;
    return { status: 'pass', found, set: valuesFor(pods) };
  },
};
