import type { Check } from '../finding.ts';

export interface NodeFacts {
  architecture: string;
  /** `containerd://2.1.3`. */
  runtime: string;
}

/** The first versions that mount images as volumes. */
const LEAST: Readonly<Record<string, readonly [number, number]>> = { containerd: [2, 1], 'cri-o': [1, 31] };

function isKnown(runtime: string): boolean {
  const [, name = '', major, minor] = /^([\w-]+):\/\/v?(\d+)\.(\d+)/.exec(runtime) ?? [];
  const least = LEAST[name];
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
