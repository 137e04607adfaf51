import type { Check } from '../finding.ts';

interface Facts {
  /** `v1.36.0`, as the API server reports it. */
  version: string;
  /** What the check of image volumes said; undefined: it did not run. */
  imageVolumes?: boolean | undefined;
}

/** Image volumes are on by default from here. */
const BY_DEFAULT = 35;
const LEAST = 33;

export const kubernetes: Check<Facts> = {
  id: 'kubernetes',
  title: 'Kubernetes',
  wanted: `1.${LEAST} or later; 1.${BY_DEFAULT} to mount tools as images by default`,
  why: 'The chart uses no older API. Below 1.35 the feature gate ImageVolume decides.',
  verdict({ version, imageVolumes }) {
    const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
    if (major === undefined || minor === undefined) return { status: 'unknown', found: version };
    if (major !== '1' || Number(minor) < LEAST) return { status: 'fail', found: version };
    if (Number(minor) >= BY_DEFAULT) return { status: 'pass', found: version };
    if (imageVolumes === true) return { status: 'pass', found: version, set: { 'tools.forceImageVolume': true } };
    return { status: 'pass', found: version, set: { 'tools.delivery': 'bundled' } };
  },
};
